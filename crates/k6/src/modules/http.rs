//! `k6/http`.

mod expected;
mod request;
mod response;

use std::rc::Rc;

use crate::http::{HttpOperation, HttpRequest, HttpResponse};
use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::script::{Level, LogLine};
use crate::vu::{Ended, Operation, Stage, Vu, Wait, Waiter};

pub(crate) use response::response_object;

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    response::set_prototype(scope)?;
    let exports = scope.object();
    add(&exports, "get", 2, |call| without_body(call, "GET"))?;
    add(&exports, "head", 2, |call| without_body(call, "HEAD"))?;
    add(&exports, "post", 3, |call| with_body(call, "POST"))?;
    add(&exports, "put", 3, |call| with_body(call, "PUT"))?;
    add(&exports, "patch", 3, |call| with_body(call, "PATCH"))?;
    add(&exports, "del", 3, |call| with_body(call, "DELETE"))?;
    add(&exports, "options", 3, |call| with_body(call, "OPTIONS"))?;
    add(&exports, "request", 4, |call| send(call, &any_method(call)?))?;
    add(&exports, "asyncRequest", 4, |call| send_async(call, any_method(call)?))?;
    add(&exports, "batch", 1, batch)?;
    add(&exports, "expectedStatuses", 1, expected::expected_statuses)?;
    add(&exports, "setResponseCallback", 1, set_response_callback)?;
    let url = "(strings, ...values) => ({
        name: strings.reduce((all, part, at) => all + part + (at < values.length ? '${}' : ''), ''),
        url: strings.reduce((all, part, at) => all + part + (at < values.length ? values[at] : ''), ''),
        toString() { return this.url; } })";
    exports.set("url", &scope.run(url, "k6/http")?)?;
    let file = "(data, filename, content_type) => ({ data, __file: true,
        filename: filename === undefined ? String(Date.now() * 1e6) : filename,
        content_type: content_type === undefined ? 'application/octet-stream' : content_type })";
    exports.set("file", &scope.run(file, "k6/http")?)?;
    Ok(exports)
}

fn without_body<'js>(call: &Call<'js, '_>, method: &str) -> Result<Value<'js>, Thrown> {
    let arguments = request::Arguments {
        method: method.to_owned(),
        url: call.argument(0),
        body: call.scope().undefined(),
        params: call.argument(1),
    };
    send(call, &arguments)
}

fn with_body<'js>(call: &Call<'js, '_>, method: &str) -> Result<Value<'js>, Thrown> {
    let arguments = request::Arguments {
        method: method.to_owned(),
        url: call.argument(0),
        body: call.argument(1),
        params: call.argument(2),
    };
    send(call, &arguments)
}

fn any_method<'js>(call: &Call<'js, '_>) -> Result<request::Arguments<'js>, Thrown> {
    Ok(request::Arguments {
        method: call.argument(0).text()?.to_uppercase(),
        url: call.argument(1),
        body: call.argument(2),
        params: call.argument(3),
    })
}

/// Begin a request, and ask for it.
fn begin(vu: &Vu, request: HttpRequest, waiter: Waiter) -> u32 {
    let operation = HttpOperation { request: request.into(), due: vu.now.get() };
    let name = vu.begin(Operation::Http(Box::new(operation)), waiter);
    vu.asked.borrow_mut().requests.push(name);
    name
}

fn require_running(scope: Scope<'_>) -> Result<(), Thrown> {
    match Vu::of(scope).stage.get() {
        Stage::Calling => Ok(()),
        Stage::Init => Err(scope.throw("Making http requests in the init context is not supported")),
    }
}

/// A request, waited for.
fn send<'js>(call: &Call<'js, '_>, arguments: &request::Arguments<'js>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_running(scope)?;
    let vu = Vu::of(scope);
    let request = request::read(arguments)?;
    let name = begin(vu, request, Waiter::Fiber);
    vu.wait(scope, Wait::For(name))?;
    let ended = vu.take_ended(name);
    let response = received(scope, ended)?;
    if let (true, Some(failure)) = (request::throws(&arguments.params)?, &response.failure)
        && response.status == 0
    {
        return Err(scope.throw(&failure.text));
    }
    response_object(scope, response)
}

/// What came of a request.
pub(crate) fn received(scope: Scope<'_>, ended: Option<Ended>) -> Result<Rc<HttpResponse>, Thrown> {
    match ended {
        Some(Ended::Http(Ok(response))) => {
            if let Some(failure) = response.failure.as_ref().filter(|_| response.status == 0) {
                let fields = vec![(
                    "error",
                    format!(
                        "{} \"{}\": {}",
                        response.request.method,
                        response.request.url.as_str(),
                        failure.text
                    ),
                )];
                Vu::of(scope).log(LogLine {
                    level: Level::Warning,
                    text: "Request Failed".to_owned(),
                    fields,
                });
            }
            Ok(response)
        }
        Some(Ended::Http(Err(why))) => Err(scope.throw(&why)),
        Some(Ended::Timer | Ended::Grpc(_)) | None => Err(scope.throw("the request was not sent")),
    }
}

fn send_async<'js>(call: &Call<'js, '_>, arguments: request::Arguments<'js>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_running(scope)?;
    let request = request::read(&arguments)?;
    let (promise, resolver) = scope.promise()?;
    begin(Vu::of(scope), request, Waiter::Promise(resolver));
    Ok(promise)
}

/// Several requests at once; what is returned has the keys of what was given.
fn batch<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_running(scope)?;
    let vu = Vu::of(scope);
    let given = call.argument(0);
    if !given.is_object() {
        return Err(scope.throw_type_error("http.batch() needs an array or an object of requests"));
    }
    let keys = given.keys()?;
    let mut requests = Vec::with_capacity(keys.len());
    for key in &keys {
        requests.push(request::read(&request::of_batch(&given.get(key)?)?)?);
    }
    let names: Vec<u32> = requests.into_iter().map(|request| begin(vu, request, Waiter::Fiber)).collect();
    if let Some(first) = names.first() {
        vu.wait(scope, Wait::ForAll(*first, names.len() as u32))?;
    }
    let result = if given.is_array() { scope.array() } else { scope.object() };
    for (key, name) in keys.iter().zip(names) {
        let response = received(scope, vu.take_ended(name))?;
        result.set(key, &response_object(scope, response)?)?;
    }
    Ok(result)
}

fn set_response_callback<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    *Vu::of(scope).http.expected.borrow_mut() = expected::expectation(&call.argument(0))?;
    Ok(scope.undefined())
}
