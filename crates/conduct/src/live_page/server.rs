//! Answers requests for the page, on its own thread. Each connection has one request and a limited time, whatever its
//! client does.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::access::Allowed;
use super::pace::thread_time;
use super::{LAST_ANSWERS, NICENESS, ServedPage, Shared};
use crate::marks::MarkError;

/// Connections at once; more wait in the kernel's queue.
const CONNECTIONS: u32 = 32;
/// Requests in a second; further ones are refused.
const REQUESTS: u32 = 50;
/// From the acceptance of a connection to the last byte of its request's head.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// The longest head.
const HEAD_BYTES: usize = 16 * 1_024;
/// The longest text of a mark, before it is cut.
const MARK_BYTES: usize = 1_024;
/// How long a request waits for a newer page.
const WAIT_TIME: Duration = Duration::from_secs(20);
/// How long the first page waits to be newer than the last that was made.
const FIRST_WAIT_TIME: Duration = Duration::from_secs(1);
/// From the acceptance of a connection to its end.
const CONNECTION_TIME: Duration = Duration::from_secs(40);

type PageResponse = Response<Full<Bytes>>;

/// Serve until `ends` is notified.
pub(super) fn start(
    listener: TcpListener,
    shared: Arc<Shared>,
    ends: Arc<Notify>,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let guard = runtime.enter();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    drop(guard);
    thread::Builder::new().name("live server".to_owned()).spawn(move || {
        // It answers as well where this is refused.
        let _ = rustix::process::nice(NICENESS);
        runtime.block_on(serve(&listener, shared, &ends));
    })
}

async fn serve(listener: &tokio::net::TcpListener, shared: Arc<Shared>, ends: &Notify) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS as usize));
    let rate = Arc::new(Mutex::new(Rate { second: Instant::now(), requests: 0 }));
    loop {
        let accepted = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = ends.notified() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Without free descriptors it fails again at once.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (shared, rate) = (Arc::clone(&shared), Arc::clone(&rate));
        tokio::spawn(async move {
            // A connection that takes longer, or breaks, is of no interest.
            let _ = timeout(CONNECTION_TIME, serve_one(stream, &shared, &rate)).await;
            drop(slot);
        });
    }
    let _ = timeout(LAST_ANSWERS, slots.acquire_many(CONNECTIONS)).await;
}

async fn serve_one(stream: TcpStream, shared: &Shared, rate: &Mutex<Rate>) -> Result<(), hyper::Error> {
    let service = service_fn(|request| async {
        let answer = answer(request, shared, rate).await;
        shared.serving_ns.store(thread_time().as_nanos() as u64, Ordering::Relaxed);
        Ok::<_, Infallible>(answer)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// Requests in the second that began then.
struct Rate {
    second: Instant,
    requests: u32,
}

impl Rate {
    fn is_exceeded(&mut self) -> bool {
        if self.second.elapsed() >= Duration::from_secs(1) {
            *self = Rate { second: Instant::now(), requests: 0 };
        }
        self.requests += 1;
        self.requests > REQUESTS
    }
}

async fn answer(request: Request<Incoming>, shared: &Shared, rate: &Mutex<Rate>) -> PageResponse {
    let answer = match shared.access.check(request.uri(), request.headers()) {
        Err(refused) => text(refused.status, refused.why),
        Ok(_) if rate.lock().unwrap_or_else(PoisonError::into_inner).is_exceeded() => {
            with(text(StatusCode::TOO_MANY_REQUESTS, "too many requests"), header::RETRY_AFTER, "1")
        }
        Ok(Allowed::WithCookie(cookie)) if request.uri().path() == "/" => {
            let there = with(text(StatusCode::SEE_OTHER, ""), header::LOCATION, "./");
            with(there, header::SET_COOKIE, &cookie)
        }
        Ok(_) => respond(request, shared).await,
    };
    [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ]
    .into_iter()
    .fold(answer, |answer, (name, value)| with(answer, name, value))
}

async fn respond(request: Request<Incoming>, shared: &Shared) -> PageResponse {
    match (request.uri().path(), request.method()) {
        ("/", &Method::GET | &Method::HEAD) => {
            let now = shared.page.borrow().version;
            match newer(shared, now, FIRST_WAIT_TIME).await {
                Some(page) => html(page),
                None => html(shared.page.borrow().clone()),
            }
        }
        ("/update", &Method::GET) => {
            let after = request.uri().query().and_then(|query| query.strip_prefix("after="));
            let Some(after) = after.and_then(|version| version.parse().ok()) else {
                return text(StatusCode::BAD_REQUEST, "expected ?after=VERSION");
            };
            match newer(shared, after, WAIT_TIME).await {
                Some(page) => html(page),
                None => text(StatusCode::NO_CONTENT, ""),
            }
        }
        ("/marks", &Method::POST) => mark(request, shared).await,
        ("/" | "/update", _) => with(not_allowed(), header::ALLOW, "GET"),
        ("/marks", _) => with(not_allowed(), header::ALLOW, "POST"),
        _ => text(StatusCode::NOT_FOUND, "there are /, /update and /marks"),
    }
}

/// A page newer than this version, or the last one, if there is any within the time.
async fn newer(shared: &Shared, version: u64, time: Duration) -> Option<ServedPage> {
    let mut pages = shared.page.subscribe();
    shared.ask();
    let is_newer = |page: &ServedPage| page.version > version || page.is_last;
    let found = timeout(time, pages.wait_for(is_newer)).await.ok()?;
    found.ok().map(|page| page.clone())
}

async fn mark(request: Request<Incoming>, shared: &Shared) -> PageResponse {
    let Some(marker) = shared.marker() else {
        return text(StatusCode::CONFLICT, "no load is offered now");
    };
    let Ok(body) = Limited::new(request.into_body(), MARK_BYTES).collect().await else {
        return text(StatusCode::PAYLOAD_TOO_LARGE, "a mark has at most 1,024 bytes");
    };
    let body = body.to_bytes();
    let Ok(said) = std::str::from_utf8(&body) else {
        return text(StatusCode::BAD_REQUEST, "the text of a mark is UTF-8");
    };
    match marker.mark(said) {
        Ok(mark) => text(StatusCode::CREATED, &format!("marked at {}: {}", mark.clock(), mark.text)),
        Err(error @ MarkError::Over) => text(StatusCode::CONFLICT, &error.to_string()),
        Err(error @ MarkError::TooMany) => text(StatusCode::TOO_MANY_REQUESTS, &error.to_string()),
    }
}

fn html(page: ServedPage) -> PageResponse {
    let answer = with(Response::new(Full::new(page.html)), header::CONTENT_TYPE, "text/html; charset=utf-8");
    // Only a header can forbid frames.
    let policy = format!("{}; frame-ancestors 'none'", page.policy);
    with(answer, header::CONTENT_SECURITY_POLICY, &policy)
}

fn text(status: StatusCode, text: &str) -> PageResponse {
    let body = if text.is_empty() { String::new() } else { format!("{text}\n") };
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    with(answer, header::CONTENT_TYPE, "text/plain; charset=utf-8")
}

fn not_allowed() -> PageResponse {
    text(StatusCode::METHOD_NOT_ALLOWED, "not this method")
}

fn with(mut answer: PageResponse, name: HeaderName, value: &str) -> PageResponse {
    let value = HeaderValue::from_str(value).expect("headers are made of visible ASCII here");
    answer.headers_mut().insert(name, value);
    answer
}
