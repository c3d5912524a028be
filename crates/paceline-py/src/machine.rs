//! What this machine moves and computes in a second, for Python.

use std::time::Duration;

use paceline_machine::{Kind, MachineError, Pass, Stretch};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

#[pyfunction]
pub(crate) fn arithmetic_instructions(kind: &str) -> PyResult<Option<&'static str>> {
    Ok(paceline_machine::instructions(kind_of(kind)?))
}

#[pyfunction]
pub(crate) fn arithmetic_rates(
    py: Python<'_>,
    kind: &str,
    threads: usize,
    seconds: f64,
) -> PyResult<Option<Vec<(f64, f64)>>> {
    let (kind, span) = (kind_of(kind)?, span_of(seconds)?);
    let found = measured(py, |keep_on| paceline_machine::arithmetic_rates(kind, threads, span, keep_on))?;
    Ok(found.map(pairs))
}

#[pyfunction]
pub(crate) fn memory_rates(
    py: Python<'_>,
    kernel: &str,
    threads: usize,
    bytes_a_thread: usize,
    seconds: f64,
) -> PyResult<Vec<(f64, f64)>> {
    let pass = Pass::from_name(kernel)
        .ok_or_else(|| PyValueError::new_err(format!("there is no way through memory {kernel:?}")))?;
    let span = span_of(seconds)?;
    measured(py, |keep_on| paceline_machine::memory_rates(pass, threads, bytes_a_thread, span, keep_on))
        .map(pairs)
}

/// Without Python's lock, and ended by what a signal raises.
fn measured<T: Send>(
    py: Python<'_>,
    measure: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, MachineError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let found = py.detach(|| {
        measure(&mut || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                raised = Some(error);
                false
            }
        })
    });
    match raised {
        Some(error) => Err(error),
        None => found.map_err(to_py),
    }
}

fn pairs(found: Vec<Stretch>) -> Vec<(f64, f64)> {
    found.into_iter().map(|one| (one.rate, one.share)).collect()
}

fn kind_of(name: &str) -> PyResult<Kind> {
    Kind::from_name(name).ok_or_else(|| PyValueError::new_err(format!("there is no kind of number {name:?}")))
}

fn span_of(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn to_py(error: MachineError) -> PyErr {
    let message = error.to_string();
    match error {
        MachineError::Threads(_) | MachineError::TooShort(..) => PyValueError::new_err(message),
        MachineError::Memory(_) => PyMemoryError::new_err(message),
        MachineError::Thread(_) | MachineError::Interrupted | MachineError::TooFew(_) => {
            PyRuntimeError::new_err(message)
        }
    }
}
