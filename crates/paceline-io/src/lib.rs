//! Sockets whose reads carry the kernel's receive stamp, the poller that waits on them, TLS, and HTTP/1.1
//! framing. Shared by the load generator and the reference engine, so that both ends of a measurement keep time
//! in the same way.
//!
//! Linux 5.11 or newer: `epoll_pwait2` gives timeouts in nanoseconds, `SO_TIMESTAMPING` the arrival instants.

pub mod clock;
pub mod http1;
pub mod poller;
pub mod stream;
pub mod tls;
