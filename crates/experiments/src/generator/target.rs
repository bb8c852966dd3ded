//! A server of known behaviour: it answers every request after the same delay, and logs how long that really took.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::readiness::Readiness;
use evidence::Histogram;

const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 23\r\n\r\nhello from the target!\n";
const HEAD_ENDS: &[u8] = b"\r\n\r\n";
/// How often it checks whether to end.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The listening socket's number among the connections.
const LISTENER: usize = usize::MAX;

/// The running server.
pub(super) struct Target {
    addr: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Histogram>>,
}

impl Target {
    /// Start it on a free port of 127.0.0.1; every response is delayed by `delay`.
    pub(super) fn start(delay: Duration) -> io::Result<Target> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut sockets = Readiness::new()?;
        sockets.add(&listener, LISTENER)?;
        let server = Server { sockets, listener, delay, connections: Vec::new(), held: VecDeque::new() };
        let over = is_over.clone();
        let thread = std::thread::Builder::new().name("target".into()).spawn(move || server.serve(&over))?;
        Ok(Target { addr, is_over, thread })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stop it; returns how long each request was delayed, from when it was read to when its response was written.
    pub(super) fn stop(self) -> io::Result<Histogram> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the target panicked")))
    }
}

struct Server {
    sockets: Readiness,
    listener: TcpListener,
    delay: Duration,
    /// With how much of the end of a head has been seen.
    connections: Vec<Option<(TcpStream, usize)>>,
    /// Requests that wait for their response: which connection, since when. All wait equally long.
    held: VecDeque<(usize, Instant)>,
}

impl Server {
    fn serve(mut self, is_over: &AtomicBool) -> io::Result<Histogram> {
        self.sockets.prepare_thread();
        let mut log = Histogram::new();
        while !is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            let due =
                self.held.front().map(|(_, since)| (*since + self.delay).saturating_duration_since(now));
            let patience = due.unwrap_or(STOP_CHECK_INTERVAL).min(STOP_CHECK_INTERVAL);
            for socket in self.sockets.wait(patience)? {
                match socket {
                    LISTENER => self.accept()?,
                    index => self.read(index),
                }
            }
            self.answer(&mut log);
        }
        Ok(log)
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            self.sockets.add(&stream, self.connections.len())?;
            self.connections.push(Some((stream, 0)));
        }
        Ok(())
    }

    fn read(&mut self, index: usize) {
        let mut buffer = [0; 4096];
        let Some((stream, seen)) = &mut self.connections[index] else { return };
        match stream.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => {
                self.connections[index] = None;
                self.sockets.remove(index);
            }
            Ok(count) => {
                for byte in &buffer[..count] {
                    *seen = match *byte == HEAD_ENDS[*seen] {
                        true => *seen + 1,
                        false => usize::from(*byte == HEAD_ENDS[0]),
                    };
                    if *seen == HEAD_ENDS.len() {
                        *seen = 0;
                        self.held.push_back((index, Instant::now()));
                    }
                }
            }
        }
    }

    fn answer(&mut self, log: &mut Histogram) {
        while let Some((index, since)) =
            self.held.front().copied().filter(|(_, since)| since.elapsed() >= self.delay)
        {
            self.held.pop_front();
            // A closed connection needs no response; a hundred bytes fit into the empty buffer of any other.
            if let Some((stream, _)) = &mut self.connections[index]
                && stream.write_all(RESPONSE).is_ok()
            {
                log.record_ns(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_answered_once_and_its_delay_is_logged() {
        let target = Target::start(Duration::from_millis(2)).unwrap();
        let mut stream = TcpStream::connect(target.addr()).unwrap();
        let mut answer = vec![0; RESPONSE.len()];
        for cut in [0, 5, 17] {
            let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
            stream.write_all(&request[..cut]).unwrap();
            stream.write_all(&request[cut..]).unwrap();
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, RESPONSE);
        }
        drop(stream);
        let log = target.stop().unwrap();
        assert_eq!(log.count(), 3);
        assert!(log.min_us().is_some_and(|us| us >= 2_000), "{log:?}");
    }
}
