//! Asks a process beside this one whether it is ready, for container health checks that have no other client.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The admin port answers from memory; what takes longer is not well.
const WITHIN: Duration = Duration::from_secs(2);
/// The answer is a short JSON object below a few headers.
const MAX_ANSWER_BYTES: u64 = 8 * 1024;

/// Why a process gets no requests.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// Nobody answers there.
    #[error("{address} does not answer: {source}")]
    Silent {
        /// The admin port.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// It says why.
    #[error("{address} answers {answer}")]
    Refusing {
        /// The admin port.
        address: SocketAddr,
        /// The status line and the body.
        answer: String,
    },
}

/// Asks for `/readyz` at a process's admin port on this machine; `admin` is where it was told to listen.
///
/// # Errors
/// When it does not answer within 2 s, or answers anything but 200.
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
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Who listens on every address is reached on the loopback one.
fn reachable(listening: IpAddr) -> IpAddr {
    match listening {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn asked(answer: &'static str) -> String {
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
    fn only_200_is_ready_and_the_rest_is_told() {
        assert_eq!(asked("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"), "ready");
        assert_eq!(
            asked("HTTP/1.1 503 Service Unavailable\r\n\r\n{\"status\":\"draining\"}"),
            "127.0.0.1 answers HTTP/1.1 503 Service Unavailable {\"status\":\"draining\"}"
        );
        assert_eq!(asked(""), "127.0.0.1 answers ");
        assert_eq!(asked("200"), "127.0.0.1 answers 200");
    }
}
