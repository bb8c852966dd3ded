//! The live page: the report of a run so far, served over HTTP while the run goes on, and at its end the report itself.
//!
//! Two threads of low priority make it. One answers requests; it is never waited for at the end of a run for longer than
//! [`LAST_ANSWERS`]. The other makes a page from the run file so far, only when a page is asked for, and so seldom that both take
//! at most a hundredth of a processor.

mod access;
mod delivered;
mod pace;
mod rendering;
mod server;
mod until_over;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ::report::document::{self, LiveState};
use ::report::{Document, Percentiles};
use anyhow::anyhow;
use cluster::Token;
use hyper::body::Bytes;
use tokio::sync::{Notify, watch};

use crate::failure::{CommandResult, Failure};
use crate::live_address::LiveAddress;
use crate::marks::Marker;
use crate::screen::note;
use access::Access;
use rendering::Order;
pub(crate) use rendering::Rendering;

/// How much less the threads of the page get of a processor than the loops.
const NICENESS: i32 = 10;

/// How long the last page may take to reach those who wait for it, once the command has nothing else to do.
pub const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// The page of one run, from before it begins until its report is written.
pub struct LivePage {
    shared: Arc<Shared>,
    ends: Arc<Notify>,
    server: Option<JoinHandle<()>>,
}

/// What the threads of the page have in common.
struct Shared {
    access: Access,
    /// Those of its tables, where they are not the usual ones.
    percentiles: Option<Percentiles>,
    page: watch::Sender<ServedPage>,
    run: Mutex<Option<RunUnderWay>>,
    /// Whether a page was asked for that is not being made yet.
    is_asked: AtomicBool,
    /// The time that the server's thread has had on a processor.
    serving_ns: AtomicU64,
}

/// A run of which pages are made.
struct RunUnderWay {
    marker: Marker,
    orders: Sender<Order>,
}

/// A page as it is sent.
#[derive(Clone)]
struct ServedPage {
    version: u64,
    is_last: bool,
    html: Bytes,
    policy: Arc<str>,
}

impl LivePage {
    /// Serve the page of a run called `name` at `address`, with these percentiles if any are given, and say where.
    ///
    /// # Errors
    /// When nothing can be served there.
    pub fn open(
        address: &LiveAddress,
        name: &str,
        percentiles: Option<Percentiles>,
    ) -> CommandResult<LivePage> {
        let listener = listen(address).map_err(Failure::usage)?;
        let at = listener.local_addr().map_err(Failure::own)?;
        let token = (!at.ip().is_loopback()).then(Token::drawn).transpose().map_err(Failure::own)?;
        let access = Access::new(&address.host, at, token);
        note(format_args!("live page: {}", access.url()));
        let state = LiveState { version: 0, is_last: false };
        let first = ServedPage::render(&Document::before(name), state);
        let shared = Arc::new(Shared {
            access,
            percentiles,
            page: watch::Sender::new(first),
            run: Mutex::new(None),
            is_asked: AtomicBool::new(false),
            serving_ns: AtomicU64::new(0),
        });
        let ends = Arc::new(Notify::new());
        let server = server::start(listener, shared.clone(), ends.clone()).map_err(Failure::own)?;
        Ok(LivePage { shared, ends, server: Some(server) })
    }

    /// From here on until what this returns is dropped, pages are made from the run file at `path`.
    pub(crate) fn begin(&self, path: &Path, marker: Marker) -> CommandResult<Rendering> {
        Rendering::start(path.to_owned(), self.shared.clone(), marker).map_err(Failure::own)
    }

    /// The run is over, and this is its report.
    pub fn finish(&self, report: &Document) {
        self.shared.publish(report, true);
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        self.ends.notify_one();
        if let Some(server) = self.server.take() {
            // A server that panicked has said so, and the run is not about it.
            let _ = server.join();
        }
    }
}

impl Shared {
    /// Have a new page made, if a run is under way.
    fn ask(&self) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = &*run
            && !self.is_asked.swap(true, Ordering::Relaxed)
        {
            // Where the thread is gone the run is at its end.
            let _ = run.orders.send(Order::Render);
        }
    }

    fn set_run(&self, run: Option<RunUnderWay>) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run;
        self.is_asked.store(false, Ordering::Relaxed);
    }

    /// Through what events are marked; none where no run is under way.
    fn marker(&self) -> Option<Marker> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|run| run.marker.clone())
    }

    fn publish(&self, document: &Document, is_last: bool) {
        let version = self.page.borrow().version + 1;
        self.page.send_replace(ServedPage::render(document, LiveState { version, is_last }));
    }
}

impl ServedPage {
    fn render(document: &Document, state: LiveState) -> ServedPage {
        let page = document::live_html(document, &state);
        ServedPage {
            version: state.version,
            is_last: state.is_last,
            html: page.html.into(),
            policy: page.policy.into(),
        }
    }
}

/// Listens at the address; without a port at the first that is free.
fn listen(address: &LiveAddress) -> anyhow::Result<TcpListener> {
    let LiveAddress { host, port } = address;
    let bind = |port: u16| {
        let at: Vec<SocketAddr> = (host.as_str(), port).to_socket_addrs()?.collect();
        TcpListener::bind(at.as_slice())
    };
    let listener = match port {
        Some(port) => {
            bind(*port).map_err(|error| {
                let next = match error.kind() {
                    io::ErrorKind::AddrInUse => {
                        "another program listens there; give another port, or `--live` alone for the first that is free"
                    }
                    io::ErrorKind::PermissionDenied => "ports below 1024 are for root; give a higher one",
                    _ => "give an address of this machine, such as --live=127.0.0.1:5665",
                };
                anyhow!("--live: cannot serve a page at {host}, port {port}: {error}; {next}")
            })
        }
        None => first_free(bind).map_err(|error| {
            let last = LiveAddress::FIRST_PORT + LiveAddress::PORTS - 1;
            let of = format!("cannot serve a page at {host}, ports {} to {last}", LiveAddress::FIRST_PORT);
            anyhow!("--live: {of}: {error}; give another port: --live={host}:PORT")
        }),
    }?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn first_free(bind: impl Fn(u16) -> io::Result<TcpListener>) -> io::Result<TcpListener> {
    let mut ports = LiveAddress::FIRST_PORT..LiveAddress::FIRST_PORT + LiveAddress::PORTS;
    let mut tried = bind(LiveAddress::FIRST_PORT);
    ports.next();
    for port in ports {
        match &tried {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => tried = bind(port),
            _ => break,
        }
    }
    tried
}
