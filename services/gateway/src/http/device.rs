//! `GET /status`, `POST /start`, `/stop` and `/reset`: one device, named by `?device=` or by the settings.

use super::Api;
use super::answer::{error, json};
use crate::device::{Command, Refused, State as DeviceState};
use crate::sample;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json as value;
use std::sync::Arc;

#[derive(Deserialize)]
pub(super) struct Asked {
    device: Option<String>,
}

type Question = Result<Query<Asked>, QueryRejection>;

pub(super) async fn status(State(api): State<Arc<Api>>, asked: Question) -> Response {
    let id = match device(&api, asked) {
        Ok(id) => id,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    let (state, latest) = match api.devices.find(&id) {
        Some(known) => known,
        // The one that is meant when none is named is there from the beginning.
        None if id == api.default_device => (DeviceState::Idle, None),
        None => return error(StatusCode::NOT_FOUND, "nothing was heard of this device"),
    };
    let body = value!({
        "device": id,
        "state": state,
        "latest_sample": latest,
        "devices": api.devices.count(),
        "metrics": api.meters.told(),
    });
    json(StatusCode::OK, body.to_string())
}

pub(super) async fn command(State(api): State<Arc<Api>>, asked: Question, command: Command) -> Response {
    let id = match device(&api, asked) {
        Ok(id) => id,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    match api.devices.command(&id, command) {
        Ok(()) => json(StatusCode::OK, r#"{"ok":true}"#),
        Err(why @ Refused::State { .. }) => error(StatusCode::BAD_REQUEST, &why.to_string()),
        Err(why @ Refused::TooMany) => error(StatusCode::SERVICE_UNAVAILABLE, &why.to_string()),
    }
}

/// Which device is meant, or why that cannot be told.
fn device(api: &Api, asked: Question) -> Result<String, String> {
    let Query(asked) = asked.map_err(|why| why.body_text())?;
    let Some(id) = asked.device else { return Ok(api.default_device.clone()) };
    let id = sample::name("device", id.into()).map_err(|why| why.to_string())?;
    Ok(id.into_owned())
}
