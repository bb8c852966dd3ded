//! Reads gRPC calls.

use serde_json::{Value, json};

use super::section::Item;
use super::step_reader::StepReader;
use super::targets::unknown_target;
use workload::call::{CallOptions, CancelAfter, MAX_MESSAGES};
use workload::message::Method;
use workload::model::Request;

/// Read a call of the method that `grpc` names.
pub(super) fn read<'a>(reader: &mut StepReader<'a, '_>, grpc: &Item<'a>) -> Option<Request> {
    let mut metadata = reader.headers("headers");
    for key in ["json", "body", "auth", "redirects"] {
        reader.refuse_key(key, "applies to HTTP only; use `message` here");
    }
    let messages = read_messages(reader);
    let mut call = read_options(reader);
    let text = grpc.text()?;
    let Some((target, method)) = text.split_once('/') else {
        grpc.wrong("a call names target, service and method: `grpc = \"NAME/package.Service/Method\"`");
        return None;
    };
    reader.add_default_headers(&mut metadata, target);
    match reader.targets.named.get(target) {
        None => grpc.wrong(unknown_target(target, reader.targets.names())),
        Some(known) if known.grpc.is_none() => {
            grpc.wrong(format!("target `{target}` has no `grpc`; add `grpc = \"host:port\"` to it"));
        }
        Some(_) if reader.targets.undescribed.contains(target) => {}
        Some(_) => {
            let described = grpc.issues.check(&grpc.span(), reader.targets.schemas.method(target, method));
            if let (Some(described), Some(messages)) = (described, &messages) {
                check_messages(reader, grpc, &described, messages);
                call.then = messages[1..].to_vec();
                grpc.issues.check(&grpc.span(), described.check(&call));
            }
        }
    }
    let (target, method) = (target.to_owned(), method.trim_start_matches('/').to_owned());
    let mut messages = messages.unwrap_or_else(|| vec![json!({})]).into_iter();
    let message = messages.next()?;
    call.then = messages.collect();
    if call.messages() > MAX_MESSAGES {
        grpc.wrong(format!("a call sends at most {MAX_MESSAGES} messages; lower `repeat`"));
    }
    Some(Request::Grpc { target, method, metadata, message, call })
}

/// The messages of one round, at least one; none if one of them is wrong.
fn read_messages<'a>(reader: &mut StepReader<'a, '_>) -> Option<Vec<Value>> {
    let (one, many) = (reader.section.get("message"), reader.section.get("messages"));
    if let (Some(_), Some(many)) = (&one, &many) {
        many.wrong("a call has a `message` or several `messages`, not both");
        return None;
    }
    let items = match (one, many) {
        (Some(one), _) => vec![one],
        (None, Some(many)) => {
            let items = many.items();
            if items.is_empty() {
                many.wrong("`messages` has one or more; `repeat = 0` sends none");
                return None;
            }
            items
        }
        (None, None) => return Some(vec![json!({})]),
    };
    let mut messages = Vec::with_capacity(items.len());
    for item in items {
        reader.inner_templates(&item)?;
        messages.push(item.json());
    }
    Some(messages)
}

fn check_messages(reader: &StepReader<'_, '_>, grpc: &Item<'_>, method: &Method, messages: &[Value]) {
    let item = reader.section.get("message").or_else(|| reader.section.get("messages"));
    let span = item.map_or(grpc.span(), |item| item.span());
    for message in messages {
        grpc.issues.check(&span, method.compile(message));
    }
}

fn read_options(reader: &StepReader<'_, '_>) -> CallOptions {
    let section = reader.section;
    let mut call = CallOptions::default();
    if let Some(repeat) = section.get("repeat").and_then(|item| item.whole(0..=MAX_MESSAGES)) {
        call.repeat = repeat as u32;
    }
    if let Some(every) = section.get("every").and_then(|item| item.duration()) {
        call.every = every;
    }
    call.cancel_after = section.get("cancel_after").and_then(|item| match item.is_text() {
        true => item.duration().map(CancelAfter::Time),
        false => item.whole(1..=u64::MAX).map(CancelAfter::Messages),
    });
    call.deadline = section.get("deadline").and_then(|item| {
        item.duration().inspect(|deadline| {
            if deadline.is_zero() {
                item.wrong("a deadline is longer than 0");
            }
        })
    });
    call.compress = reader.compress();
    call
}
