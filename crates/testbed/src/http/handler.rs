//! Turns a request into what is to be done about it, with the memory that some behaviours need.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::behaviour::{Answerer, Behaviour, CannedResponse, Ending, Farewell};
use crate::freeze::nanos;
use crate::http::request::Request;
use crate::queue::Queue;
use crate::shared::lock;
use crate::site::Site;

/// What is to be done about a request, and when at the earliest.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) due_ns: u64,
    pub(crate) act: Act,
    /// Whether this was the connection's last request.
    pub(crate) last: Option<Farewell>,
}

#[derive(Debug)]
pub(crate) enum Act {
    CannedResponse(CannedResponse),
    Trickle(CannedResponse, Duration),
    Raw(Vec<u8>, Ending),
}

/// A request with what else an answer may depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedRequest<'a> {
    pub(crate) request: &'a Request,
    /// When it could first be looked at.
    pub(crate) at_ns: u64,
    /// The connection's number.
    pub(crate) connection: u64,
    /// Its number on the connection, from 1.
    pub(crate) nth: u64,
}

/// The handlers of a site.
#[derive(Debug)]
pub(crate) struct Handlers {
    routes: Vec<(String, Handler)>,
    fallback: Handler,
}

impl Handlers {
    pub(crate) fn new(site: Site<Behaviour>) -> Self {
        let routes = site.routes.into_iter().map(|(path, behaviour)| (path, Handler::new(behaviour)));
        let fallback = site.fallback.unwrap_or_else(|| Behaviour::status(404));
        Handlers { routes: routes.collect(), fallback: Handler::new(fallback) }
    }

    pub(crate) fn reply(&self, asked: ReceivedRequest<'_>) -> Reply {
        let path = &asked.request.path;
        let route = self.routes.iter().find(|(known, _)| known == path);
        route.map_or(&self.fallback, |(_, handler)| handler).reply(asked)
    }
}

/// A behaviour with its memory.
#[derive(Debug)]
enum Handler {
    Fixed(CannedResponse),
    Computed(Answerer),
    Echo,
    Raw { delay: Duration, bytes: Vec<u8>, then: Ending },
    Trickle { answer: CannedResponse, interval: Duration },
    EveryNth { seen: AtomicU64, nth: u64, failing: Box<Handler>, otherwise: Box<Handler> },
    Sequence { seen: AtomicU64, handlers: Vec<Handler> },
    Capacity { queue: Mutex<Queue>, answer: CannedResponse },
    Login { issued: AtomicU64 },
    CloseAfter { requests: u64, farewell: Farewell, answer: Box<Handler> },
}

impl Handler {
    fn new(behaviour: Behaviour) -> Self {
        let boxed = |behaviour: Box<Behaviour>| Box::new(Handler::new(*behaviour));
        match behaviour {
            Behaviour::Fixed(answer) => Handler::Fixed(answer),
            Behaviour::Computed(answerer) => Handler::Computed(answerer),
            Behaviour::Echo => Handler::Echo,
            Behaviour::Raw { delay, bytes, then } => Handler::Raw { delay, bytes, then },
            Behaviour::Trickle { answer, interval } => Handler::Trickle { answer, interval },
            Behaviour::EveryNth { nth, failing, otherwise } => Handler::EveryNth {
                seen: AtomicU64::new(0),
                nth: nth.max(1),
                failing: boxed(failing),
                otherwise: boxed(otherwise),
            },
            Behaviour::Sequence(behaviours) => {
                assert!(!behaviours.is_empty(), "a sequence of behaviours must not be empty");
                let handlers = behaviours.into_iter().map(Handler::new).collect();
                Handler::Sequence { seen: AtomicU64::new(0), handlers }
            }
            Behaviour::Capacity { workers, service, answer } => {
                Handler::Capacity { queue: Mutex::new(Queue::new(workers, nanos(service))), answer }
            }
            Behaviour::Login => Handler::Login { issued: AtomicU64::new(0) },
            Behaviour::CloseAfter { requests, farewell, answer } => {
                Handler::CloseAfter { requests, farewell, answer: boxed(answer) }
            }
        }
    }

    fn reply(&self, asked: ReceivedRequest<'_>) -> Reply {
        match self {
            Handler::Fixed(answer) => answered(asked.at_ns, answer.clone()),
            Handler::Computed(answerer) => answered(asked.at_ns, answerer.answer()),
            Handler::Echo => answered(asked.at_ns, echo(asked)),
            Handler::Raw { delay, bytes, then } => Reply {
                due_ns: asked.at_ns.saturating_add(nanos(*delay)),
                act: Act::Raw(bytes.clone(), *then),
                last: None,
            },
            Handler::Trickle { answer, interval } => Reply {
                due_ns: asked.at_ns.saturating_add(nanos(answer.delay)),
                act: Act::Trickle(answer.clone(), *interval),
                last: None,
            },
            Handler::EveryNth { seen, nth, failing, otherwise } => {
                let number = seen.fetch_add(1, Ordering::Relaxed) + 1;
                let handler = if number.is_multiple_of(*nth) { failing } else { otherwise };
                handler.reply(asked)
            }
            Handler::Sequence { seen, handlers } => {
                let number = seen.fetch_add(1, Ordering::Relaxed) % handlers.len() as u64;
                handlers[number as usize].reply(asked)
            }
            Handler::Capacity { queue, answer } => {
                let done_ns = lock(queue).admit(asked.at_ns);
                answered(done_ns, answer.clone())
            }
            Handler::Login { issued } => answered(asked.at_ns, login(issued, asked.request)),
            Handler::CloseAfter { requests, farewell, answer } => {
                let last = (asked.nth >= *requests).then_some(*farewell);
                Reply { last, ..answer.reply(asked) }
            }
        }
    }
}

fn answered(at_ns: u64, answer: CannedResponse) -> Reply {
    Reply { due_ns: at_ns.saturating_add(nanos(answer.delay)), act: Act::CannedResponse(answer), last: None }
}

fn echo(asked: ReceivedRequest<'_>) -> CannedResponse {
    let request = asked.request;
    let mut headers = serde_json::Map::new();
    for (name, value) in &request.headers {
        let joined = match headers.get(name).and_then(|before| before.as_str()) {
            Some(before) => format!("{before}, {value}"),
            None => value.clone(),
        };
        headers.insert(name.clone(), joined.into());
    }
    CannedResponse::new(200).json(&json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": headers,
        "body": String::from_utf8_lossy(&request.body),
        "connection": asked.connection,
    }))
}

fn login(issued: &AtomicU64, request: &Request) -> CannedResponse {
    if request.method == "POST" && request.path.ends_with("/login") {
        let token = format!("token-{}", issued.fetch_add(1, Ordering::Relaxed) + 1);
        let cookie = format!("session={token}; Path=/; HttpOnly");
        return CannedResponse::new(200).json(&json!({ "token": token })).header("set-cookie", &cookie);
    }
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let cookies = request.header("cookie").unwrap_or_default();
    let cookie = cookies.split("; ").find_map(|pair| pair.strip_prefix("session="));
    let known = |token: Option<&str>| {
        let user = token?.strip_prefix("token-")?.parse::<u64>().ok()?;
        (1..=issued.load(Ordering::Relaxed)).contains(&user).then_some(user)
    };
    match (known(bearer), known(cookie)) {
        (Some(user), _) => CannedResponse::new(200).json(&json!({ "user": user, "by": "bearer" })),
        (None, Some(user)) => CannedResponse::new(200).json(&json!({ "user": user, "by": "cookie" })),
        (None, None) => CannedResponse::new(401).header("www-authenticate", "Bearer"),
    }
}
