//! `GET /status`, `POST /start`, `/stop` and `/reset`: one device, named by `?device=` or by `DEFAULT_DEVICE`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use kit::auth::Denied;
use serde::Deserialize;
use serde_json::json as value;

use super::Api;
use super::response::{denied, error, json};
use crate::caller::Caller;
use crate::device::{Command, CommandRefusal, DeviceState};
use crate::sample;

#[derive(Deserialize)]
pub(super) struct DeviceQuery {
    device: Option<String>,
}

type QueryResult = Result<Query<DeviceQuery>, QueryRejection>;

pub(super) async fn status(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    query: QueryResult,
) -> Response {
    let id = match requested_device(&api, &caller, query) {
        Ok(id) => id,
        Err(why) => return why.response(),
    };
    let (state, latest) = match api.devices.find(&id) {
        Some(found) => found,
        // The default device exists from the beginning.
        None if id == api.default_device => (DeviceState::Idle, None),
        None => return error(StatusCode::NOT_FOUND, "this device is not known"),
    };
    let body = value!({
        "device": id,
        "state": state,
        "latest_sample": latest,
        "devices": api.devices.count(),
        "metrics": api.meters.report(),
    });
    json(StatusCode::OK, body.to_string())
}

pub(super) async fn command(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    query: QueryResult,
    command: Command,
) -> Response {
    let id = match requested_device(&api, &caller, query) {
        Ok(id) => id,
        Err(why) => return why.response(),
    };
    match api.devices.command(&id, command) {
        Ok(()) => json(StatusCode::OK, r#"{"ok":true}"#),
        Err(why @ CommandRefusal::State { .. }) => error(StatusCode::BAD_REQUEST, &why.to_string()),
        Err(why @ CommandRefusal::TooManyDevices) => error(StatusCode::SERVICE_UNAVAILABLE, &why.to_string()),
    }
}

/// Why a query names no device that the caller acts for.
#[derive(Debug, thiserror::Error)]
enum QueryRefusal {
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Denied(#[from] Denied),
}

impl QueryRefusal {
    fn response(&self) -> Response {
        match self {
            Self::Invalid(why) => error(StatusCode::BAD_REQUEST, why),
            Self::Denied(reason) => denied(*reason),
        }
    }
}

/// The id of the requested device.
fn requested_device(api: &Api, caller: &Caller, query: QueryResult) -> Result<String, QueryRefusal> {
    let Query(query) = query.map_err(|why| QueryRefusal::Invalid(why.body_text()))?;
    let Some(id) = query.device else { return Ok(caller.device().unwrap_or(&api.default_device).to_owned()) };
    let id = sample::name("device", id.into()).map_err(|why| QueryRefusal::Invalid(why.to_string()))?;
    caller.require_device(&id)?;
    Ok(id.into_owned())
}
