//! Bytes and instants in, one record a request out.
//!
//! No sockets and no clock: whoever reads the response stamps its bytes and hands them to a [`StreamObserver`],
//! which reads the event stream and the protocol and ends as an [`Observation`]. With what the sender knows it is a
//! [`RequestRecord`], the row of `docs/design/0001-border-and-row.md`; a [`BatchBuilder`] puts rows into Arrow form.

mod batch;
mod error;
mod observe;
mod outcome;
mod protocol;
mod record;
mod secrets;
mod seen;
mod sse;
mod stretches;
mod tokens;
mod whole;

pub use batch::BatchBuilder;
pub use error::WireError;
pub use observe::{BodyEnd, Head, Limits, Stamp, StreamObserver, Usage};
pub use outcome::Outcome;
pub use protocol::{Protocol, server_message};
pub use record::{KIND_CONTENT, KIND_EMBEDDING, KIND_REASONING, KIND_TOOL_CALL, Observation, RequestRecord};
pub use secrets::Secrets;
pub use sse::{Event, SseReader, TooLarge};
