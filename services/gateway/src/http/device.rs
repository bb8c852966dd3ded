//! `GET /status`, `POST /start`, `/stop` and `/reset`: one device, named by `?device=` or by `DEFAULT_DEVICE`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json as value;

use super::Api;
use super::response::{error, json};
use crate::device::{Command, CommandRefusal, DeviceState};
use crate::sample;

#[derive(Deserialize)]
pub(super) struct DeviceQuery {
    device: Option<String>,
}

type QueryResult = Result<Query<DeviceQuery>, QueryRejection>;

pub(super) async fn status(State(api): State<Arc<Api>>, query: QueryResult) -> Response {
    let id = match requested_device(&api, query) {
        Ok(id) => id,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
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

pub(super) async fn command(State(api): State<Arc<Api>>, query: QueryResult, command: Command) -> Response {
    let id = match requested_device(&api, query) {
        Ok(id) => id,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    match api.devices.command(&id, command) {
        Ok(()) => json(StatusCode::OK, r#"{"ok":true}"#),
        Err(why @ CommandRefusal::State { .. }) => error(StatusCode::BAD_REQUEST, &why.to_string()),
        Err(why @ CommandRefusal::TooManyDevices) => error(StatusCode::SERVICE_UNAVAILABLE, &why.to_string()),
    }
}

/// The id of the requested device, or why the query names none.
fn requested_device(api: &Api, query: QueryResult) -> Result<String, String> {
    let Query(query) = query.map_err(|why| why.body_text())?;
    let Some(id) = query.device else { return Ok(api.default_device.clone()) };
    let id = sample::name("device", id.into()).map_err(|why| why.to_string())?;
    Ok(id.into_owned())
}
