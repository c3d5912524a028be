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

/// Raises this process's limit of open files to the hard limit, since each connection needs one. Where it is
/// refused, the limit stays.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
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
