//! `Gateway`: the gateway's data plane for Python.

use paceline_gateway::{Gateway as DataPlane, GatewayError};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

fn to_py(error: GatewayError) -> PyErr {
    match error {
        GatewayError::Document(_) | GatewayError::Tls(_) => PyValueError::new_err(error.to_string()),
        GatewayError::Listen { ref source, .. } | GatewayError::Ledger { ref source, .. } => {
            PyOSError::new_err((source.raw_os_error(), error.to_string()))
        }
        GatewayError::System { .. } => PyRuntimeError::new_err(error.to_string()),
    }
}

#[pyclass(module = "paceline._core")]
pub(crate) struct Gateway(DataPlane);

#[pymethods]
impl Gateway {
    #[new]
    fn new(settings_json: &str, table_json: &str) -> PyResult<Self> {
        DataPlane::new(settings_json, table_json).map(Self).map_err(to_py)
    }

    fn start(&self, py: Python<'_>) -> PyResult<String> {
        let addresses = py.detach(|| self.0.start()).map_err(to_py)?;
        serde_json::to_string(&addresses).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn swap(&self, py: Python<'_>, table_json: &str) -> PyResult<()> {
        py.detach(|| self.0.swap(table_json)).map_err(to_py)
    }

    fn stats(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.stats())
    }

    fn drain(&self) {
        self.0.drain();
    }

    fn finished(&self) -> bool {
        self.0.finished()
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}
