//! Sockets, stamps, the poller and HTTP/1.1 framing.
