//! The floor under every load generator: an epoll loop that writes one prebuilt request and reads the answer, over
//! and over. No schedule, no parsing, nothing recorded but a count. What a generator takes beyond this is its own.

use std::error::Error;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use clap::Parser;
use rustix::event::{Timespec, epoll};

/// How many ready sockets are looked at before the clock is.
const EVENTS_A_TURN: usize = 256;
const BUFFER_BYTES: usize = 64 * 1024;
/// How long answers that are under way at the end may take.
const DRAIN: Duration = Duration::from_secs(5);

/// Ask one HTTP/1.1 server for `/` as often as it answers, and print how often that was
#[derive(Parser)]
struct Arguments {
    /// Where the server listens
    server: SocketAddr,
    /// Kept-alive connections, one request at a time on each
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    connections: u32,
    /// For how many seconds new requests are sent
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

/// One connection: what has come of the answer that it waits for.
struct PendingResponse {
    stream: TcpStream,
    received: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", arguments.server);
    let response_bytes = response_length(arguments.server, request.as_bytes())?;
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = connect(&arguments, &queue)?;
    let load = Load { request: request.as_bytes(), response_bytes, seconds: arguments.seconds };
    let completed = offer(&mut connections, &queue, load)?;
    writeln!(io::stdout(), "{completed} requests")?;
    Ok(())
}

/// The length of an answer, head and body: all are taken to be as long.
fn response_length(server: SocketAddr, request: &[u8]) -> Result<usize, Box<dyn Error>> {
    let mut stream = TcpStream::connect(server)?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while answer.len() < BUFFER_BYTES {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Response::new(&mut headers);
        if let httparse::Status::Complete(bytes) = head.parse(&answer)? {
            let length = head.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
            let length = length.ok_or("the answer has no content-length")?;
            return Ok(bytes + std::str::from_utf8(length.value)?.parse::<usize>()?);
        }
    }
    Err("the server gives no answer that could be understood".into())
}

fn connect(arguments: &Arguments, queue: &OwnedFd) -> Result<Vec<PendingResponse>, Box<dyn Error>> {
    let mut asking = Vec::new();
    for place in 0..arguments.connections {
        let stream = TcpStream::connect(arguments.server)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let data = epoll::EventData::new_u64(u64::from(place));
        epoll::add(queue, &stream, data, epoll::EventFlags::IN)?;
        asking.push(PendingResponse { stream, received: 0 });
    }
    Ok(asking)
}

/// The request that is sent again and again, the size of its response, and for how long.
struct Load<'a> {
    request: &'a [u8],
    response_bytes: usize,
    seconds: u64,
}

/// Sends on every connection, and again at each response until the time is over; returns the number of responses.
fn offer(asking: &mut [PendingResponse], queue: &OwnedFd, load: Load<'_>) -> Result<u64, Box<dyn Error>> {
    let Load { request, response_bytes, seconds } = load;
    let began = Instant::now();
    let mut is_over = false;
    let (mut completed, mut open) = (0, asking.len());
    let mut buffer = vec![0; BUFFER_BYTES];
    for one in &mut *asking {
        one.stream.write_all(request)?;
    }
    while open > 0 {
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_A_TURN];
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let (ready, _) = epoll::wait(queue, &mut events, Some(&second))?;
        let passed = began.elapsed();
        is_over |= passed >= Duration::from_secs(seconds);
        if passed >= Duration::from_secs(seconds) + DRAIN {
            return Err("the server does not answer any more".into());
        }
        for event in ready {
            let one = &mut asking[event.data.u64() as usize];
            one.received += one.stream.read(&mut buffer)?;
            if one.received < response_bytes {
                continue;
            }
            one.received = 0;
            completed += 1;
            if is_over {
                open -= 1;
            } else {
                // A request of a hundred bytes always fits into an empty socket.
                one.stream.write_all(request)?;
            }
        }
    }
    Ok(completed)
}
