//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

const BACKLOG: i32 = 4_096;

/// The first address of a `host:port`.
///
/// # Errors
/// When it is none, or its name has no address.
pub fn resolve(address: &str) -> io::Result<SocketAddr> {
    address.to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the name has no address"))
}

/// A non-blocking listener. `shared`: other listeners of this process take part of its connections
/// (`SO_REUSEPORT`).
///
/// # Errors
/// As `bind` and `listen`.
pub fn listen(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), None)?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// So many descriptors are reserved; 8 bytes each.
const RESERVED: i32 = 16_384;

/// Raises this process's limit of open files to the hard limit, since each connection needs one, and makes the kernel's
/// table of them large at once. Where either is refused, it stays as it is.
///
/// The table doubles as it fills (64, 128, 256...), and where several threads share it the one that makes it grow waits
/// for all processors to pass a quiescent state (`synchronize_rcu`): 10 to 16 ms were seen, in which an event loop stood
/// still. Here nobody waits for it.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    reserve_descriptors();
}

/// As [`raise_open_files`], and the limit stays.
pub fn reserve_descriptors() {
    let most =
        getrlimit(Resource::Nofile).current.and_then(|most| i32::try_from(most).ok()).unwrap_or(i32::MAX);
    if let Ok(null) = std::fs::File::open("/dev/null") {
        // A descriptor of a high number makes the table as large, and the table never shrinks.
        let _ = rustix::io::fcntl_dupfd_cloexec(&null, RESERVED.min(most - 1));
    }
}

/// EMFILE and ENFILE: an accept failed for want of a descriptor.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_listeners_share_a_port() {
        let first = listen(resolve("127.0.0.1:0").unwrap(), true).unwrap();
        let address = first.local_addr().unwrap();
        assert!(listen(address, true).is_ok());
        assert_eq!(listen(address, false).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(resolve("no port").is_err());
    }
}
