//! Between scripts and the engine, of gRPC calls.

use std::rc::Rc;

use engine::OriginIndex;
use engine::exchange::OperationName;
use engine::iteration::{Context, Verdict};
use engine::program::UnusableOrigin;
use evidence::{GrpcCode, Outcome};

use super::{Completion, rejected};
use crate::grpc::{CallTags, GrpcConnection, GrpcContent, GrpcOperation, GrpcReply, Reading};
use crate::metrics::Builtin;
use crate::vu::Vu;

/// Submit it; what became of it where it cannot be sent.
pub(super) fn submit(
    vu: &Vu,
    operation: &GrpcOperation,
    name: OperationName,
    context: &mut Context<'_>,
) -> Result<(), Rc<GrpcReply>> {
    let origin = origin_of(&operation.connection, context);
    let origin = origin.map_err(|error| Rc::new(GrpcReply::unsent(error.to_string())))?;
    let endpoint = context.endpoint(&operation.endpoint());
    let draft = context.request(name);
    (draft.origin, draft.endpoint) = (origin, endpoint);
    operation.draft(&vu.shared.script.settings().http.user_agent, draft);
    Ok(())
}

/// Where a client is connected to.
fn origin_of(connection: &GrpcConnection, context: &mut Context<'_>) -> Result<OriginIndex, UnusableOrigin> {
    if let Some(known) = connection.met.get() {
        return Ok(known);
    }
    let met = match &connection.tls {
        Some(files) => context.grpc_origin_with(&connection.url, files),
        None => context.grpc_origin(&connection.url),
    }?;
    connection.met.set(Some(met));
    Ok(met)
}

/// An operation has ended: count it; what came of it, and the verdict on it.
pub(super) fn ended(
    vu: &Vu,
    operation: &GrpcOperation,
    completion: &Completion<'_>,
    context: &Context<'_>,
) -> (Rc<GrpcReply>, Verdict) {
    let times = context.completed_times().unwrap_or_default();
    let connection = &operation.connection;
    let failed = |outcome: Outcome| {
        GrpcReply::of_transport(connection, outcome, times.reason.as_deref().unwrap_or_default())
    };
    let GrpcContent::Call(call) = &operation.content else {
        return (Rc::new(completion.transport.map_or_else(GrpcReply::connected, failed)), Verdict::Accepted);
    };
    let reply = match completion.transport {
        Some(outcome) => failed(outcome).with_default_message(call),
        None => GrpcReply::of_response(call, completion.response, connection.most_received)
            .held_by(completion.memory(vu)),
    };
    let tags = CallTags { call, address: &connection.address, status: reply.code };
    let took_ns = times.sending_ns + times.waiting_ns + times.receiving_ns;
    // As in k6, neither a call that timed out nor a description has a duration.
    let is_description = call.reading == Reading::Raw && reply.code == GrpcCode::OK;
    if completion.transport != Some(Outcome::Timeout) && !is_description {
        vu.sample(Builtin::GrpcReqDuration.into(), took_ns as f64 / 1e6, &tags);
    }
    vu.sample(Builtin::DataSent.into(), times.bytes_out as f64, &tags);
    vu.sample(Builtin::DataReceived.into(), times.bytes_in as f64, &tags);
    let verdict = match reply.code {
        GrpcCode::OK => Verdict::Accepted,
        // A server need not have each version of reflection.
        GrpcCode::UNIMPLEMENTED if call.reading == Reading::Raw => Verdict::Accepted,
        code => rejected(Outcome::Grpc(code), reply.text.clone()),
    };
    (Rc::new(reply), verdict)
}

/// Close the connections that scripts have closed.
pub(super) fn close(vu: &Vu, context: &mut Context<'_>) {
    for connection in vu.asked.borrow_mut().closed.drain(..) {
        // One that cannot be used has none.
        if let Ok(origin) = origin_of(&connection, context) {
            context.close_connections(origin);
        }
    }
}
