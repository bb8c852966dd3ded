//! An address at which connections are refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};

/// Holds a port without listening on it: the kernel refuses every connection, and nobody else can take
/// the port while this lives.
#[derive(Debug)]
pub struct Refusal {
    _bound: OwnedFd,
    addr: SocketAddr,
}

impl Refusal {
    /// The address that refuses.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Reserves a port of 127.0.0.1 that refuses connections.
///
/// # Errors
/// When the machine has no port left.
pub fn refuse() -> io::Result<Refusal> {
    // A process that a test starts must not inherit it, or the port would stay taken.
    let bound = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&bound, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let addr = SocketAddr::try_from(getsockname(&bound)?)?;
    Ok(Refusal { _bound: bound, addr })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn refuses_connections() {
        let refusal = refuse().unwrap();
        let error = TcpStream::connect(refusal.addr()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
