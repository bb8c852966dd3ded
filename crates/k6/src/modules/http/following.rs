//! `clickLink()` and `submitForm()` of responses.

use super::request::{self, Arguments};
use super::sending;
use crate::js::{Call, Thrown, Value};
use crate::modules::defining::add;
use crate::modules::html;

/// Add both to what responses inherit from.
pub(super) fn add_to(prototype: &Value<'_>) -> Result<(), Thrown> {
    add(prototype, "clickLink", 0, |call| follow(call, "click"))?;
    add(prototype, "submitForm", 0, |call| follow(call, "submission"))
}

/// Send the request that a form or a link of the body makes.
fn follow<'js>(call: &Call<'js, '_>, what: &str) -> Result<Value<'js>, Thrown> {
    let library = html::library(call.scope())?;
    let request = library.get(what)?.call(&library, &[call.this(), call.argument(0)])?;
    let arguments = Arguments {
        method: request::method(&request.at(0)?)?,
        url: request.at(1)?,
        body: request.at(2)?,
        params: request.at(3)?,
    };
    sending::send(call, &arguments)
}
