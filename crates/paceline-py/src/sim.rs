//! `Sim`: the reference engine for Python.

use paceline_sim::{Sim as Engine, SimConfig, SimError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

fn to_py(error: SimError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pyclass(module = "paceline._core")]
pub(crate) struct Sim {
    config: SimConfig,
    engine: Option<Engine>,
}

#[pymethods]
impl Sim {
    #[new]
    fn new(config_json: &str) -> PyResult<Self> {
        Ok(Self { config: SimConfig::from_json(config_json).map_err(to_py)?, engine: None })
    }

    fn start(&mut self, py: Python<'_>) -> PyResult<String> {
        if self.engine.is_some() {
            return Err(PyRuntimeError::new_err("the reference engine was started before"));
        }
        let config = self.config.clone();
        let engine = py.detach(|| Engine::start(config)).map_err(to_py)?;
        let address = engine.address().to_string();
        self.engine = Some(engine);
        Ok(address)
    }

    fn stats(&self) -> PyResult<String> {
        let engine = self.engine.as_ref().ok_or_else(|| PyRuntimeError::new_err("not started"))?;
        serde_json::to_string(&engine.stats()).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn stop(&mut self, py: Python<'_>) {
        if let Some(engine) = self.engine.take() {
            py.detach(|| engine.stop());
        }
    }
}
