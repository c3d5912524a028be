//! The binding: `paceline._core`. Configuration crosses as one JSON document, data crosses as Arrow, and nothing
//! crosses per request. The documentation of each function stands in `src/paceline/_core.pyi`.

mod gateway;
mod load;
mod machine;
mod observe;
mod sim;

use pyo3::prelude::*;

/// `release`, or `debug`, on which nothing may be measured.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(build_profile, module)?)?;
    module.add_function(wrap_pyfunction!(observe::observe, module)?)?;
    module.add_function(wrap_pyfunction!(machine::arithmetic_instructions, module)?)?;
    module.add_function(wrap_pyfunction!(machine::arithmetic_rates, module)?)?;
    module.add_function(wrap_pyfunction!(machine::memory_rates, module)?)?;
    module.add_class::<gateway::Gateway>()?;
    module.add_class::<load::LoadRun>()?;
    module.add_class::<sim::Sim>()
}
