//! A port of 127.0.0.1 that no other process gets.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port that is held without listening on it: connections are refused, and the system never assigns it as a free
/// port. On Linux, a program that is told to listen on it can still do so.
pub struct Port {
    address: SocketAddr,
    /// Bound as long as the value lives.
    _held: TcpSocket,
}

impl Port {
    /// Holds a port that was free.
    ///
    /// # Panics
    /// If there is no free port, since a test cannot continue then.
    #[allow(clippy::expect_used, reason = "a test cannot go on without its port")]
    pub fn hold() -> Self {
        let held = TcpSocket::new_v4().expect("making a socket");
        held.set_reuseaddr(true).expect("letting others listen on the port");
        held.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("binding a free port");
        Self { address: held.local_addr().expect("reading the port"), _held: held }
    }

    /// Its address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn who_connects_is_refused() {
        let port = Port::hold();
        assert_eq!(TcpStream::connect(port.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_told_to_may_listen_and_nobody_else_gets_it() {
        let port = Port::hold();
        for _ in 0..3 {
            let listener = std::net::TcpListener::bind(port.address()).unwrap();
            drop(TcpStream::connect(port.address()).unwrap());
            drop(listener);
        }
        let others: Vec<_> = (0..200).map(|_| Port::hold()).collect();
        assert!(others.iter().all(|other| other.address() != port.address()));
    }
}
