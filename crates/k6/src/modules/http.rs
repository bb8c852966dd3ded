//! `k6/http`.

mod batch;
mod body;
mod cookies;
mod expected;
mod following;
mod params;
mod refused;
mod request;
mod response;
mod sending;

use std::borrow::Cow;

use crate::http::HttpResponse;
use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::vu::Vu;

pub(crate) use sending::received;

/// What scripts compare `tls_version` and `ocsp` of responses with.
const CONSTANTS: [(&str, &str); 18] = [
    ("TLS_1_0", "tls1.0"),
    ("TLS_1_1", "tls1.1"),
    ("TLS_1_2", "tls1.2"),
    ("TLS_1_3", "tls1.3"),
    ("OCSP_STATUS_GOOD", "good"),
    ("OCSP_STATUS_REVOKED", "revoked"),
    ("OCSP_STATUS_SERVER_FAILED", "server_failed"),
    ("OCSP_STATUS_UNKNOWN", "unknown"),
    ("OCSP_REASON_UNSPECIFIED", "unspecified"),
    ("OCSP_REASON_KEY_COMPROMISE", "key_compromise"),
    ("OCSP_REASON_CA_COMPROMISE", "ca_compromise"),
    ("OCSP_REASON_AFFILIATION_CHANGED", "affiliation_changed"),
    ("OCSP_REASON_SUPERSEDED", "superseded"),
    ("OCSP_REASON_CESSATION_OF_OPERATION", "cessation_of_operation"),
    ("OCSP_REASON_CERTIFICATE_HOLD", "certificate_hold"),
    ("OCSP_REASON_REMOVE_FROM_CRL", "remove_from_crl"),
    ("OCSP_REASON_PRIVILEGE_WITHDRAWN", "privilege_withdrawn"),
    ("OCSP_REASON_AA_COMPROMISE", "aa_compromise"),
];

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let prototype = response::prototype(scope)?;
    following::add_to(&prototype)?;
    scope.set_class_prototype::<HttpResponse>(prototype)?;
    let exports = scope.object();
    add(&exports, "get", 2, |call| without_body(call, "GET"))?;
    add(&exports, "head", 2, |call| without_body(call, "HEAD"))?;
    add(&exports, "post", 3, |call| with_body(call, "POST"))?;
    add(&exports, "put", 3, |call| with_body(call, "PUT"))?;
    add(&exports, "patch", 3, |call| with_body(call, "PATCH"))?;
    add(&exports, "del", 3, |call| with_body(call, "DELETE"))?;
    add(&exports, "options", 3, |call| with_body(call, "OPTIONS"))?;
    add(&exports, "request", 4, |call| sending::send(call, &any_method(call)?))?;
    add(&exports, "asyncRequest", 4, |call| sending::send_async(call, &any_method(call)?))?;
    add(&exports, "batch", 1, batch::batch)?;
    add(&exports, "expectedStatuses", 1, expected::expected_statuses)?;
    add(&exports, "setResponseCallback", 1, set_response_callback)?;
    let url = "(strings, ...values) => {
        const joined = (of) => strings.reduce((all, part, at) => all + part + (at < values.length ? of(values[at]) : ''), '');
        const url = joined((value) => value === undefined || value === null ? '' : String(value));
        return { name: joined(() => '${}'), url, clean_url: url }; }";
    exports.set("url", &scope.run(url, "k6/http")?)?;
    for (name, value) in CONSTANTS {
        exports.set(name, &scope.string(value))?;
    }
    add(&exports, "file", 3, body::file)?;
    cookies::add_to(&exports)?;
    Ok(exports)
}

fn without_body<'js>(call: &Call<'js, '_>, method: &'static str) -> Result<Value<'js>, Thrown> {
    let arguments = request::Arguments {
        method: Cow::Borrowed(method),
        url: call.argument(0),
        body: call.scope().undefined(),
        params: call.argument(1),
    };
    sending::send(call, &arguments)
}

fn with_body<'js>(call: &Call<'js, '_>, method: &'static str) -> Result<Value<'js>, Thrown> {
    let arguments = request::Arguments {
        method: Cow::Borrowed(method),
        url: call.argument(0),
        body: call.argument(1),
        params: call.argument(2),
    };
    sending::send(call, &arguments)
}

fn any_method<'js>(call: &Call<'js, '_>) -> Result<request::Arguments<'js>, Thrown> {
    Ok(request::Arguments {
        method: request::method(&call.argument(0))?,
        url: call.argument(1),
        body: call.argument(2),
        params: call.argument(3),
    })
}

fn set_response_callback<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let expectation = expected::expectation(&call.argument(0))
        .ok_or_else(|| scope.throw("unsupported argument, expected http.expectedStatuses"))?;
    *Vu::of(scope).http.expected.borrow_mut() = expectation;
    Ok(scope.undefined())
}
