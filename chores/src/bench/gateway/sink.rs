//! A Redis that takes a fixed number of elements a second on each connection.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The gateway sends no longer commands.
const MOST_WORDS: usize = 100_000;
const MOST_BYTES: usize = 1 << 20;

/// A server; dropping it lets it take no more connections.
pub(super) struct Sink {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Sink {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn start(per_s: u32) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen for the sink")?;
        let address = listener.local_addr().context("the sink has no address")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                // An error ends its connection only.
                thread::spawn(move || serve(&stream, per_s).ok());
            }
        });
        Ok(Self { address, is_over })
    }

    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The connection wakes the accepting thread, which then ends.
        let _closed = TcpStream::connect(self.address);
    }
}

fn serve(stream: &TcpStream, per_s: u32) -> Result<()> {
    let (mut input, mut answers) = (BufReader::new(stream), stream);
    loop {
        let words = command(&mut input)?;
        let answer = match words.split_first() {
            Some((name, rest)) if name.eq_ignore_ascii_case(b"rpush") => {
                let elements = u32::try_from(rest.len().saturating_sub(1))?;
                thread::sleep(Duration::from_secs(1) * elements / per_s);
                format!(":{elements}\r\n")
            }
            _ => "+OK\r\n".to_owned(),
        };
        answers.write_all(answer.as_bytes())?;
    }
}

/// An array of texts, as clients send commands.
fn command(input: &mut impl BufRead) -> Result<Vec<Vec<u8>>> {
    let count = length(input, '*')?;
    anyhow::ensure!(count <= MOST_WORDS, "a command of {count} words");
    (0..count).map(|_| word(input)).collect()
}

fn word(input: &mut impl BufRead) -> Result<Vec<u8>> {
    let bytes = length(input, '$')?;
    anyhow::ensure!(bytes <= MOST_BYTES, "a word of {bytes} bytes");
    let mut word = vec![0; bytes + 2];
    input.read_exact(&mut word)?;
    word.truncate(bytes);
    Ok(word)
}

fn length(input: &mut impl BufRead, kind: char) -> Result<usize> {
    let mut line = String::new();
    input.take(32).read_line(&mut line)?;
    let number = line.trim_end().strip_prefix(kind);
    number.and_then(|number| number.parse().ok()).with_context(|| format!("not a length: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_clients_send_them() {
        let mut input: &[u8] = b"*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n*1\r\n$4\r\nPING\r\n*1";
        let words = command(&mut input).expect("well formed");
        assert_eq!(words, [&b"RPUSH"[..], b"k", b"a\r\nb"]);
        assert_eq!(command(&mut input).expect("well formed"), [b"PING"]);
        assert!(command(&mut input).is_err());
        for wrong in [&b"PING\r\n"[..], b"*1\r\n$99999999\r\n", b"*-1\r\n", b""] {
            assert!(command(&mut { wrong }).is_err());
        }
    }

    #[test]
    fn pushes_return_their_count_and_other_commands_ok() {
        let sink = Sink::start(1_000_000).expect("a free port");
        let mut stream = TcpStream::connect(sink.address).expect("it listens");
        stream
            .write_all(b"*1\r\n$4\r\nPING\r\n*4\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$1\r\na\r\n$1\r\nb\r\n")
            .expect("it reads");
        let mut answers = [0; 9];
        stream.read_exact(&mut answers).expect("it answers");
        assert_eq!(&answers, b"+OK\r\n:2\r\n");
    }
}
