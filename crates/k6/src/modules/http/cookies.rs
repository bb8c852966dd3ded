//! `http.cookieJar()` and `http.CookieJar`.

use std::rc::Rc;

use super::sending::require_running;
use crate::http::{CookieJar, SetCookie, Url, date_ms};
use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::vu::Vu;

/// Add what makes jars to the module.
pub(super) fn add_to(exports: &Value<'_>) -> Result<(), Thrown> {
    let scope = exports.scope();
    let prototype = scope.object();
    add(&prototype, "set", 4, set)?;
    add(&prototype, "cookiesForURL", 1, cookies_for_url)?;
    add(&prototype, "delete", 2, delete)?;
    add(&prototype, "clear", 1, clear)?;
    scope.set_class_prototype::<CookieJar>(prototype)?;
    add(exports, "cookieJar", 0, |call| {
        require_running(call.scope(), "Making cookie jars")?;
        call.scope().hold(Vu::of(call.scope()).http.jar.borrow().clone())
    })?;
    let constructor = scope.constructor("CookieJar", 0, |call| call.scope().hold(Rc::<CookieJar>::default()));
    exports.set("CookieJar", &constructor)
}

fn this(call: &Call<'_, '_>) -> Result<Rc<CookieJar>, Thrown> {
    call.this().held().ok_or_else(|| call.scope().throw_type_error("not a cookie jar"))
}

fn url(scope: Scope<'_>, given: &Value<'_>) -> Result<Url, Thrown> {
    let text = if given.is_nullish() { String::new() } else { given.text()?.to_string() };
    Url::parse(&text).map_err(|error| scope.throw(&error.to_string()))
}

/// `set(url, name, value, options)`.
fn set<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, jar) = (call.scope(), this(call)?);
    let url = url(scope, &call.argument(0))?;
    let text = |index: usize| {
        let given = call.argument(index);
        if given.is_nullish() { Ok(String::new()) } else { given.text().map(|text| text.to_string()) }
    };
    let mut cookie = SetCookie { name: text(1)?, value: text(2)?, ..SetCookie::default() };
    let options = call.argument(3);
    if options.is_object() {
        for name in options.keys()? {
            set_option(&mut cookie, &name, &options.get(&name)?)?;
        }
    }
    jar.set(&url, cookie, Vu::of(scope).unix_ms());
    Ok(scope.boolean(true))
}

fn set_option(cookie: &mut SetCookie, name: &str, value: &Value<'_>) -> Result<(), Thrown> {
    match name {
        "domain" => cookie.domain = value.text()?.to_string(),
        "path" => cookie.path = value.text()?.to_string(),
        "secure" => cookie.secure = value.is_truthy(),
        "http_only" => cookie.http_only = value.is_truthy(),
        "max_age" => {
            let seconds = value.as_number()?;
            cookie.max_age = if seconds.is_finite() { seconds as i64 } else { 0 };
        }
        "expires" => {
            let date = value.text()?.to_string();
            cookie.expires_ms = date_ms(&date);
            if cookie.expires_ms.is_none() && !date.is_empty() {
                let why = format!(
                    "unable to parse \"expires\" date string {date:?}: it needs to be like \"Mon, 02 Jan 2006 15:04:05 MST\""
                );
                return Err(value.scope().throw(&why));
            }
        }
        _ => {}
    }
    Ok(())
}

/// The values by name, those of longer paths first.
fn cookies_for_url<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, jar) = (call.scope(), this(call)?);
    let url = url(scope, &call.argument(0))?;
    let object = scope.object();
    for (name, value) in jar.for_url(&url, Vu::of(scope).unix_ms()) {
        let known = object.get(&name)?;
        let values = if known.is_array() { known } else { scope.array() };
        values.put(values.length()?, scope.string(&value))?;
        object.set(&name, &values)?;
    }
    Ok(object)
}

/// `delete(url, name)`.
fn delete<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, jar) = (call.scope(), this(call)?);
    jar.delete(&url(scope, &call.argument(0))?, &call.argument(1).text()?);
    Ok(scope.undefined())
}

/// `clear(url)`.
fn clear<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, jar) = (call.scope(), this(call)?);
    let url = url(scope, &call.argument(0))?;
    for (name, _) in jar.for_url(&url, Vu::of(scope).unix_ms()) {
        jar.delete(&url, &name);
    }
    Ok(scope.undefined())
}
