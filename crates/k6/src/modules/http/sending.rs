//! Requests that scripts send, and what comes of them.

use std::rc::Rc;

use super::refused::Refused;
use super::request::{self, Arguments};
use super::response::response_object;
use crate::http::{Failure, HttpOperation, HttpRequest, HttpResponse};
use crate::js::{Call, Scope, Thrown, Value};
use crate::script::{Failures, Level, LogLine};
use crate::vu::{Ended, Operation, Stage, Vu, Wait, Waiter};

/// Begin a request, and ask for it.
pub(super) fn begin(vu: &Vu, request: HttpRequest, waiter: Waiter) -> u32 {
    let operation = HttpOperation::new(request, vu.time());
    let name = vu.begin(Operation::Http(Box::new(operation)), waiter);
    vu.asked.borrow_mut().requests.push(name);
    name
}

/// That the script is not in its init stage, where this cannot be done.
pub(super) fn require_running(scope: Scope<'_>, what: &str) -> Result<(), Thrown> {
    match Vu::of(scope).stage.get() {
        Stage::Calling => Ok(()),
        Stage::Init => Err(scope.throw(&format!("{what} in the init context is not supported"))),
    }
}

/// A request, waited for.
pub(super) fn send<'js>(call: &Call<'js, '_>, arguments: &Arguments<'js>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_running(scope, "Making http requests")?;
    let vu = Vu::of(scope);
    match request::read(arguments) {
        Ok(request) => {
            let name = begin(vu, request, Waiter::Fiber);
            vu.wait(scope, Wait::For(name))?;
            received(scope, vu.take_ended(name))
        }
        Err(Refused::Thrown) => Err(Thrown),
        Err(Refused::Failed(failure)) => {
            let response = not_sent(arguments, failure)?;
            log_failure(scope, "Request Failed", &response);
            response_object(scope, response)
        }
    }
}

/// The same as a promise.
pub(super) fn send_async<'js>(
    call: &Call<'js, '_>,
    arguments: &Arguments<'js>,
) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_running(scope, "Making http requests")?;
    let (promise, resolver) = scope.promise()?;
    match request::read(arguments) {
        Ok(request) => drop(begin(Vu::of(scope), request, Waiter::Promise(resolver))),
        Err(Refused::Thrown) => resolver.reject(scope.take_thrown())?,
        Err(Refused::Failed(failure)) => match not_sent(arguments, failure) {
            Ok(response) => {
                log_failure(scope, "Request Failed", &response);
                resolver.fulfil(response_object(scope, response)?)?;
            }
            Err(Thrown) => resolver.reject(scope.take_thrown())?,
        },
    }
    Ok(promise)
}

/// What a script gets for what is not a request.
///
/// # Errors
/// Where failures of it are thrown.
pub(super) fn not_sent(arguments: &Arguments<'_>, failure: Failure) -> Result<Rc<HttpResponse>, Thrown> {
    match request::failures(&arguments.params)? {
        Failures::Thrown => Err(arguments.params.scope().throw(&failure.text)),
        Failures::Returned => Ok(Rc::new(HttpResponse::of_failure(None, String::new(), failure))),
    }
}

/// The response to a request that has ended.
///
/// # Errors
/// Where it failed, and failures of it are thrown.
pub(crate) fn received(scope: Scope<'_>, ended: Option<Ended>) -> Result<Value<'_>, Thrown> {
    let Some(Ended::Http(response)) = ended else { return Err(scope.throw("the request was not sent")) };
    let request = response.request.as_ref();
    let is_thrown = request.is_some_and(|request| request.failures == Failures::Thrown);
    if response.status == 0
        && is_thrown
        && let Some(failure) = &response.failure
    {
        return Err(scope.throw(failure.log_text()));
    }
    log_failure(scope, "Request Failed", &response);
    response_object(scope, response)
}

/// Write to the log that a request failed, in these words.
pub(super) fn log_failure(scope: Scope<'_>, text: &str, response: &HttpResponse) {
    if let Some(failure) = response.failure.as_ref().filter(|_| response.status == 0) {
        Vu::of(scope).log(LogLine {
            level: Level::Warning,
            text: text.to_owned(),
            fields: vec![("error", failure.log_text().to_owned())],
        });
    }
}
