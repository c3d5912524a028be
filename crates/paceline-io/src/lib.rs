//! Sockets whose reads carry the kernel's receive stamp, the poller that waits on them, TLS, and HTTP/1.1
//! framing. Shared by the load generator, the gateway and the reference engine, so that all ends of a measurement
//! keep time in the same way.
//!
//! Linux 5.11 or newer: `epoll_pwait2` gives timeouts in nanoseconds, `SO_TIMESTAMPING` the arrival instants.

pub mod calendar;
pub mod clock;
pub mod http1;
pub mod link;
pub mod listen;
pub mod poller;
pub mod pool;
pub mod request;
pub mod stream;
pub mod timers;
pub mod tls;
