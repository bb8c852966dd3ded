//! `http.batch`: several requests, so many at once as the options say.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::rc::Rc;

use super::refused::Refused;
use super::request::{self, Arguments};
use super::response::response_object;
use super::sending::{begin, log_failure, not_sent, received, require_running};
use crate::http::{Failure, HttpRequest};
use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::display::{go_text, go_type};
use crate::vu::{Ended, Vu, Wait, Waiter};

/// Send them; what is returned has the keys of what was given.
pub(super) fn batch<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_running(scope, "Using batch")?;
    let given = call.argument(0);
    if call.count() == 0 {
        return Err(scope.throw("no argument was provided to http.batch()"));
    }
    if call.count() > 1 {
        return Err(scope.throw("http.batch() accepts only an array or an object of requests"));
    }
    if !given.is_object() {
        return Err(scope.throw(&format!("invalid http.batch() argument type {}", go_type(&given))));
    }
    let result = if given.is_array() { scope.array() } else { scope.object() };
    let mut sending = Sending::default();
    for (place, key) in given.keys()?.into_iter().enumerate() {
        match of_batch(&given.get(&key)?, &key)? {
            Ok(request) => sending.add(place, key, request),
            Err(failed) => return unsent(&given, &key, &failed),
        }
    }
    sending.run(scope)?;
    for (key, ended) in sending.ended {
        result.set(&key, &received(scope, Some(ended))?)?;
    }
    in_order(&given, result)
}

/// What is returned where an element is not a request, by which none is sent: empty responses for the elements before it, and null
/// for those of an array that follow.
fn unsent<'js>(given: &Value<'js>, key: &str, failed: &Value<'js>) -> Result<Value<'js>, Thrown> {
    let scope = given.scope();
    let result = if given.is_array() { scope.array() } else { scope.object() };
    let mut is_before = true;
    for other in given.keys()? {
        if other == key {
            result.set(key, failed)?;
            is_before = false;
        } else if is_before {
            result.set(&other, &response_object(scope, Rc::default())?)?;
        } else if given.is_array() {
            result.set(&other, &scope.null())?;
        }
    }
    Ok(result)
}

/// The same with its keys in the order of what was given.
fn in_order<'js>(given: &Value<'js>, result: Value<'js>) -> Result<Value<'js>, Thrown> {
    if given.is_array() {
        return Ok(result);
    }
    let ordered = given.scope().object();
    for key in given.keys()? {
        ordered.set(&key, &result.get(&key)?)?;
    }
    Ok(ordered)
}

/// The requests of a batch.
#[derive(Default)]
struct Sending {
    servers: BTreeMap<String, Server>,
    /// By the names of their operations, with their servers.
    under_way: BTreeMap<u32, (String, String)>,
    ended: Vec<(String, Ended)>,
}

/// What a batch sends to one server.
#[derive(Default)]
struct Server {
    under_way: u32,
    /// With their places in the batch and their keys.
    waiting: VecDeque<(usize, String, HttpRequest)>,
}

impl Sending {
    fn add(&mut self, place: usize, key: String, request: HttpRequest) {
        let server = self.servers.entry(request.url.origin.clone()).or_default();
        server.waiting.push_back((place, key, request));
    }

    fn run(&mut self, scope: Scope<'_>) -> Result<(), Thrown> {
        let vu = Vu::of(scope);
        loop {
            self.begin_more(vu);
            let (Some((first, _)), Some((last, _))) =
                (self.under_way.first_key_value(), self.under_way.last_key_value())
            else {
                return Ok(());
            };
            vu.wait(scope, Wait::ForOneOf(*first, last - first + 1))?;
            let names: Vec<u32> = self.under_way.keys().copied().collect();
            for name in names {
                let Some(ended) = vu.take_ended(name) else { continue };
                if let Some((key, origin)) = self.under_way.remove(&name) {
                    self.ended.push((key, ended));
                    self.has_ended(&origin);
                }
            }
        }
    }

    fn has_ended(&mut self, origin: &str) {
        let Some(server) = self.servers.get_mut(origin) else { return };
        server.under_way -= 1;
        if server.waiting.is_empty() && server.under_way == 0 {
            self.servers.remove(origin);
        }
    }

    /// Begin what the limits allow, in order.
    fn begin_more(&mut self, vu: &Vu) {
        let limits = &vu.shared.script.settings().http;
        while self.under_way.len() < limits.batch.max(1) as usize {
            let has_slot =
                |server: &Server| limits.batch_per_host == 0 || server.under_way < limits.batch_per_host;
            let place = |server: &Server| server.waiting.front().map(|(place, _, _)| *place);
            let with_slot = self.servers.iter_mut().filter(|(_, server)| has_slot(server));
            let first = with_slot
                .filter_map(|(origin, server)| Some((place(server)?, origin, server)))
                .min_by_key(|(place, _, _)| *place);
            let Some((_, origin, server)) = first else { return };
            let Some((_, key, request)) = server.waiting.pop_front() else { return };
            server.under_way += 1;
            self.under_way.insert(begin(vu, request, Waiter::Fiber), (key, origin.clone()));
        }
    }
}

/// The request that an element of a batch is, or the response where it is none.
fn of_batch<'js>(element: &Value<'js>, key: &str) -> Result<Result<HttpRequest, Value<'js>>, Thrown> {
    let scope = element.scope();
    let undefined = || scope.undefined();
    let read = match arguments(element, key) {
        Ok(arguments) => request::read(&arguments).map_err(|refused| (refused, arguments)),
        Err(refused) => {
            let arguments = Arguments {
                method: Cow::Borrowed(""),
                url: undefined(),
                body: undefined(),
                params: undefined(),
            };
            Err((refused, arguments))
        }
    };
    match read {
        Ok(request) => Ok(Ok(request)),
        Err((Refused::Thrown, _)) => Err(Thrown),
        Err((Refused::Failed(failure), arguments)) => {
            let response = not_sent(&arguments, failure)?;
            log_failure(scope, "A batch request failed", &response);
            Ok(Err(response_object(scope, Rc::clone(&response))?))
        }
    }
}

/// An element of a batch: a URL, `[method, url, body, params]`, or an object with these.
fn arguments<'js>(given: &Value<'js>, key: &str) -> Result<Arguments<'js>, Refused> {
    let undefined = given.scope().undefined();
    if given.is_array() {
        if given.length()? < 2 {
            let why = format!("invalid batch request '{}'", go_text(given)?);
            return Err(Refused::Failed(Failure::new(0, why)));
        }
        return Ok(Arguments {
            method: request::method(&given.at(0)?)?,
            url: given.at(1)?,
            body: given.at(2)?,
            params: given.at(3)?,
        });
    }
    if given.is_object() && !given.get("clean_url")?.is_string() {
        let url = given.get("url")?;
        if url.is_undefined() {
            let why = format!("batch request {key} doesn't have a url key");
            return Err(Refused::Failed(Failure::new(0, why)));
        }
        return Ok(Arguments {
            method: request::method(&given.get("method")?)?,
            url,
            body: given.get("body")?,
            params: given.get("params")?,
        });
    }
    Ok(Arguments {
        method: Cow::Borrowed("GET"),
        url: given.clone(),
        body: undefined.clone(),
        params: undefined,
    })
}
