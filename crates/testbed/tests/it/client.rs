//! A blocking client that writes and reads bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use testbed::Target;

/// Far longer than anything here takes: only a test that is lost waits so long.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    pub(crate) fn new(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, unread: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes());
        self.answer()
    }

    /// One answer with a `content-length`.
    pub(crate) fn answer(&mut self) -> String {
        loop {
            if let Some(length) = complete(&self.unread) {
                let answer: Vec<u8> = self.unread.drain(..length).collect();
                return String::from_utf8(answer).unwrap();
            }
            assert!(self.fill().unwrap() > 0, "closed after {:?}", String::from_utf8_lossy(&self.unread));
        }
    }

    /// Everything up to the end of the connection, and how it ended.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, io::Result<()>) {
        loop {
            match self.fill() {
                Ok(0) => return (std::mem::take(&mut self.unread), Ok(())),
                Ok(_) => {}
                Err(error) => return (std::mem::take(&mut self.unread), Err(error)),
            }
        }
    }

    /// Exactly `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            assert!(self.fill().unwrap() > 0, "closed early");
        }
        self.unread.drain(..length).collect()
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 4096];
        let count = self.stream.read(&mut chunk)?;
        self.unread.extend_from_slice(&chunk[..count]);
        Ok(count)
    }
}

/// The status line's number.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

pub(crate) fn json(answer: &str) -> serde_json::Value {
    serde_json::from_str(body(answer)).unwrap()
}

/// One request on a connection of its own.
pub(crate) fn get(target: &Target, path: &str) -> String {
    Client::new(target.addr()).get(path)
}

fn complete(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let whole = head + length.parse::<usize>().unwrap();
    (bytes.len() >= whole).then_some(whole)
}
