//! A hand-made peer of HTTP/2 that holds requests until a number of them are open at once, and knows how many were.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

const PREFACE_BYTES: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const MAX_CONCURRENT_STREAMS: u8 = 3;
const INITIAL_WINDOW_SIZE: u8 = 4;
/// The largest window of a stream, and what it takes to widen that of a connection to it.
const WIDEST: [u8; 4] = [0x7f, 0xff, 0xff, 0xff];
const TO_WIDEST: [u8; 4] = [0x7f, 0xff, 0, 0];
const REFUSED_STREAM: u8 = 7;
/// `:status: 200` in the static table.
const OK: &[u8] = &[0x88];

/// How the peer treats requests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// Hold requests until this many are open on all connections together, then answer them. A connection allows
    /// `most` at once, and refuses others.
    Together { count: usize, most: u8 },
    /// Refuse each as unprocessed.
    Refuse,
    /// Allow one request at once on the first connection and none on others, say so only with the first refusal, and hold the
    /// one that is allowed until two were refused.
    LimitsLate,
    /// On so many connections, the first ones: leave, and say that nothing was processed. Answer those on others.
    Leaves(usize),
    /// On the first connection, read nothing and answer nothing. Answer requests on others.
    DeafAtFirst,
    /// A gRPC server. On the first connection, hold calls until there are `held`; then leave, say that the first
    /// `processed` of them were processed, and answer those. Answer calls on others.
    LeavesSome { held: usize, processed: usize },
    /// On the first connection, answer nothing before a request comes on another one, and on that one nothing before the
    /// first connection is closed.
    LateAtFirst,
    /// On the first connection, answer the first request. At the second, when it may go, say that no other was processed, and reset
    /// the connection.
    GoesAtSecond,
    /// With windows that hold nothing back. On the first connection, read nothing before a request comes on another one.
    DeafUntilSecond,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: usize,
    /// How many requests came, those that were refused too.
    pub(crate) requests: usize,
    /// The most requests that were open at once, without refused ones.
    pub(crate) most_open: usize,
    may_go: bool,
    pub(crate) refused: usize,
    /// Whether the first connection was reset.
    pub(crate) is_first_gone: bool,
    held: Vec<(TcpStream, u32)>,
    /// Wait for a request on another connection.
    deaf: Vec<Thread>,
}

impl Seen {
    fn answer_held(&mut self) -> io::Result<()> {
        self.held.drain(..).try_for_each(|held| {
            let (mut stream, id) = held;
            stream.write_all(&answer(id))
        })
    }
}

pub(crate) struct Peer {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Peer {
    pub(crate) fn start(manner: Manner) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let seen = shared.clone();
                let mut count = seen.lock().unwrap();
                count.connections += 1;
                let connection = Connection { manner, number: count.connections, seen: seen.clone() };
                drop(count);
                // A client may close the connection at any time.
                thread::spawn(move || {
                    let served = connection.serve(stream);
                    connection.closed().and(served)
                });
            }
        });
        Peer { addr, seen }
    }

    /// Let a peer go that waits for that.
    pub(crate) fn let_go(&self) {
        self.seen.lock().unwrap().may_go = true;
    }

    pub(crate) fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }
}

struct Connection {
    manner: Manner,
    /// Counts from 1.
    number: usize,
    seen: Arc<Mutex<Seen>>,
}

impl Connection {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let settings = match self.manner {
            Manner::Together { most, .. } => vec![0, MAX_CONCURRENT_STREAMS, 0, 0, 0, most],
            Manner::DeafUntilSecond => [&[0, INITIAL_WINDOW_SIZE], &WIDEST[..]].concat(),
            _ => Vec::new(),
        };
        if !matches!(self.manner, Manner::LimitsLate) {
            stream.write_all(&frame(SETTINGS, 0, 0, &settings))?;
        }
        if matches!(self.manner, Manner::DeafUntilSecond) {
            stream.write_all(&frame(WINDOW_UPDATE, 0, 0, &TO_WIDEST))?;
            if self.number == 1 {
                self.wait_for_another();
            }
        }
        if matches!(self.manner, Manner::DeafAtFirst) && self.number == 1 {
            loop {
                thread::park();
            }
        }
        stream.read_exact(&mut [0; PREFACE_BYTES])?;
        loop {
            let mut header = [0; 9];
            stream.read_exact(&mut header)?;
            let [a, b, c, kind, flags, s, t, u, v] = header;
            stream.read_exact(&mut vec![0; u32::from_be_bytes([0, a, b, c]) as usize])?;
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                self.requested(&stream, u32::from_be_bytes([s, t, u, v]))?;
            }
        }
    }

    fn wait_for_another(&self) {
        self.seen.lock().unwrap().deaf.push(thread::current());
        while self.seen.lock().unwrap().requests == 0 {
            thread::park();
        }
    }

    /// The client has closed this connection.
    fn closed(&self) -> io::Result<()> {
        self.seen.lock().unwrap().is_first_gone = true;
        let is_awaited = matches!(self.manner, Manner::LateAtFirst) && self.number == 1;
        if is_awaited { self.seen.lock().unwrap().answer_held() } else { Ok(()) }
    }

    fn requested(&self, mut stream: &TcpStream, id: u32) -> io::Result<()> {
        let mut seen = self.seen.lock().unwrap();
        seen.requests += 1;
        seen.deaf.drain(..).for_each(|thread| thread.unpark());
        match self.manner {
            Manner::Together { count, most } => {
                let mine = seen.held.iter().filter(|(held, _)| is_same(held, stream)).count();
                if mine >= usize::from(most) {
                    seen.refused += 1;
                    return stream.write_all(&frame(RST_STREAM, 0, id, &[0, 0, 0, REFUSED_STREAM]));
                }
                seen.held.push((stream.try_clone()?, id));
                seen.most_open = seen.most_open.max(seen.held.len());
                if seen.held.len() == count {
                    seen.answer_held()?;
                }
                Ok(())
            }
            Manner::LimitsLate if self.number == 1 && seen.refused < 2 && seen.held.is_empty() => {
                seen.held.push((stream.try_clone()?, id));
                Ok(())
            }
            Manner::LimitsLate => {
                let limit = u8::from(self.number == 1);
                stream.write_all(&frame(SETTINGS, 0, 0, &[0, MAX_CONCURRENT_STREAMS, 0, 0, 0, limit]))?;
                if seen.refused == 2 {
                    return stream.write_all(&answer(id));
                }
                stream.write_all(&frame(RST_STREAM, 0, id, &[0, 0, 0, REFUSED_STREAM]))?;
                seen.refused += 1;
                if seen.refused == 2 { seen.answer_held() } else { Ok(()) }
            }
            Manner::LateAtFirst => {
                if self.number > 1 {
                    seen.answer_held()?;
                }
                seen.held.push((stream.try_clone()?, id));
                Ok(())
            }
            Manner::LeavesSome { held, .. } if self.number == 1 && seen.held.len() + 1 < held => {
                seen.held.push((stream.try_clone()?, id));
                Ok(())
            }
            Manner::LeavesSome { processed, .. } if self.number == 1 => {
                let last = seen.held[processed - 1].1.to_be_bytes();
                stream.write_all(&frame(GOAWAY, 0, 0, &[&last[..], &[0; 4]].concat()))?;
                seen.held.drain(..).take(processed).try_for_each(|(_, id)| stream.write_all(&answer_call(id)))
            }
            Manner::LeavesSome { .. } => stream.write_all(&answer_call(id)),
            Manner::Refuse => stream.write_all(&frame(RST_STREAM, 0, id, &[0, 0, 0, REFUSED_STREAM])),
            Manner::GoesAtSecond if self.number == 1 && seen.requests == 2 => {
                drop(seen);
                while !self.seen.lock().unwrap().may_go {
                    thread::park_timeout(Duration::from_millis(1));
                }
                let first = (id - 2).to_be_bytes();
                stream.write_all(&frame(GOAWAY, 0, 0, &[&first[..], &[0; 4]].concat()))?;
                set_socket_linger(stream, Some(Duration::ZERO))?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Manner::Leaves(first) if self.number <= first => stream.write_all(&frame(GOAWAY, 0, 0, &[0; 8])),
            Manner::GoesAtSecond | Manner::Leaves(_) | Manner::DeafAtFirst | Manner::DeafUntilSecond => {
                stream.write_all(&answer(id))
            }
        }
    }
}

fn is_same(one: &TcpStream, other: &TcpStream) -> bool {
    one.peer_addr().ok() == other.peer_addr().ok()
}

fn answer(id: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, id, OK)
}

/// An empty message with status OK.
fn answer_call(id: u32) -> Vec<u8> {
    let field =
        |name: &[u8], value: &[u8]| [&[0, name.len() as u8], name, &[value.len() as u8], value].concat();
    let head = [OK, &field(b"content-type", b"application/grpc")].concat();
    let trailers = field(b"grpc-status", b"0");
    [
        frame(HEADERS, END_HEADERS, id, &head),
        frame(DATA, 0, id, &[0; 5]),
        frame(HEADERS, END_HEADERS | END_STREAM, id, &trailers),
    ]
    .concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
