//! `LoadRun`: the load generator for Python.

use arrow_array::RecordBatch;
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use paceline_load::LoadError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

fn to_py(error: LoadError) -> PyErr {
    match error {
        LoadError::Spec(_) | LoadError::Bodies(_) | LoadError::Tls(_) => {
            PyValueError::new_err(error.to_string())
        }
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

#[pyclass(module = "paceline._core")]
pub(crate) struct LoadRun(paceline_load::LoadRun);

#[pymethods]
impl LoadRun {
    #[new]
    fn new(spec_json: &str) -> PyResult<Self> {
        paceline_load::LoadRun::new(spec_json).map(Self).map_err(to_py)
    }

    fn push(&self, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.push(&RecordBatch::from_pyarrow_bound(batch)?).map_err(to_py)
    }

    fn start(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.start()).map_err(to_py)
    }

    fn poll<'py>(&mut self, py: Python<'py>) -> PyResult<(String, Option<Bound<'py, PyAny>>)> {
        let (progress, batch) = py.detach(|| self.0.poll()).map_err(to_py)?;
        let json =
            serde_json::to_string(&progress).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok((json, batch.map(|batch| batch.to_pyarrow(py)).transpose()?))
    }

    fn close_input(&self) {
        self.0.close_input();
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn cancel(&self) {
        self.0.cancel();
    }
}
