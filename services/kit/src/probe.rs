//! Requests the readiness of another process on this machine, for container health checks that have no other client.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The admin port responds from memory; a process that takes longer is not healthy.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The response is a short JSON object after a few headers.
const MAX_RESPONSE_BYTES: u64 = 8 * 1024;

/// Why a process is not ready.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// There is no response.
    #[error("{address} does not answer: {source}")]
    Silent {
        /// The admin port.
        address: SocketAddr,
        source: io::Error,
    },
    /// It responds with another status than 200.
    #[error("{address} answers {answer}")]
    Refusing {
        /// The admin port.
        address: SocketAddr,
        /// The status line and the body.
        answer: String,
    },
}

/// Requests `/readyz` of a process's admin port on this machine; `admin` is the address that it is configured with.
///
/// # Errors
/// When it does not respond within 2 s, or with another status than 200.
pub fn ask(admin: SocketAddr) -> Result<(), NotReady> {
    let address = SocketAddr::new(reachable(admin.ip()), admin.port());
    let answer = exchange(address).map_err(|source| NotReady::Silent { address, source })?;
    let status = answer.split(' ').nth(1);
    if status == Some("200") {
        return Ok(());
    }
    let status_line = answer.lines().next().unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Err(NotReady::Refusing { address, answer: format!("{status_line} {body}").trim_end().to_owned() })
}

fn exchange(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// A process that listens on every address is reached on the loopback address.
fn reachable(listening: IpAddr) -> IpAddr {
    match listening {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn probe_outcome(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let outcome = ask(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()));
        assert!(server.join().unwrap().starts_with("GET /readyz HTTP/1.1\r\n"));
        let port = format!(":{}", address.port());
        outcome.map_or_else(|e| e.to_string().replace(&port, ""), |()| "ready".to_owned())
    }

    #[test]
    fn only_200_is_ready_and_any_other_response_is_reported() {
        assert_eq!(probe_outcome("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"), "ready");
        assert_eq!(
            probe_outcome("HTTP/1.1 503 Service Unavailable\r\n\r\n{\"status\":\"draining\"}"),
            "127.0.0.1 answers HTTP/1.1 503 Service Unavailable {\"status\":\"draining\"}"
        );
        assert_eq!(probe_outcome(""), "127.0.0.1 answers ");
        assert_eq!(probe_outcome("200"), "127.0.0.1 answers 200");
    }
}
