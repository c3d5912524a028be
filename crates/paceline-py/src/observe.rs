//! `observe`: one response for Python, read as the load generator reads it.

use paceline_wire::{BodyEnd, Head, Limits, Observation, Protocol, Stamp, StreamObserver};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// As the load generator's.
const LIMITS: Limits = Limits { max_event_bytes: 16 << 20, keep_text: true, max_body_bytes: 64 << 20 };

#[pyfunction]
pub(crate) fn observe(
    py: Python<'_>,
    protocol: &str,
    streaming: bool,
    status: u16,
    content_type: Option<&str>,
    chunks: Vec<PyBackedBytes>,
) -> PyResult<String> {
    let protocol = Protocol::from_name(protocol)
        .ok_or_else(|| PyValueError::new_err(format!("there is no protocol {protocol:?}")))?;
    let observer = StreamObserver::new(protocol, streaming, LIMITS);
    let head = Head { status, content_type, retry_after: None, request_id: None };
    let row = py.detach(|| read(observer, &head, &chunks));
    serde_json::to_string(&row).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Instants are the numbers of the chunks.
fn read(mut observer: StreamObserver, head: &Head<'_>, chunks: &[PyBackedBytes]) -> Observation {
    let stamp = |read: u64| Stamp { ns: i64::try_from(read).unwrap_or(i64::MAX), kernel: false, read };
    observer.on_head(head, stamp(0));
    for (read, chunk) in (0..).zip(chunks) {
        observer.on_body(chunk, stamp(read));
    }
    let last = chunks.len().saturating_sub(1) as u64;
    observer.finish(BodyEnd::Complete, stamp(last).ns)
}
