//! `connect` with `reflect`: the server describes its services.

use std::rc::Rc;
use std::sync::Arc;

use engine::HeldBytes;
use evidence::GrpcCode;
use workload::message::reflection::{PATHS, ReflectionSession};

use super::{CODES, Request, wait_for};
use crate::grpc::{
    CALL_TIMEOUT, Description, GrpcCall, GrpcConnection, GrpcContent, GrpcReply, Reading, ReflectedSet,
    Tagging,
};
use crate::js::{Scope, Thrown};
use crate::vu::Vu;

/// Each round asks for the imports of the one before; real imports are not nested deeper.
const MAX_ROUNDS: usize = 64;

/// The services of the server, asked for with this metadata.
///
/// # Errors
/// Why they are not known.
pub(super) fn describe(
    scope: Scope<'_>,
    connection: &Rc<GrpcConnection>,
    metadata: &[(String, String)],
) -> Result<Arc<Description>, Thrown> {
    let reflection = Reflection { scope, connection, metadata };
    let mut refusal = String::new();
    for path in PATHS {
        match reflection.session(path)? {
            Described::As(set) => {
                let (vu, script) = (Vu::of(scope), &Vu::of(scope).shared.script);
                // What links descriptions may recurse as deep as they are nested.
                let described = vu.on_thread_stack(|| script.grpc().reflected(&set, script.budget()));
                return described.map_err(|error| scope.throw(&error.to_string()));
            }
            Described::NotAtAll(why) => refusal = why,
        }
    }
    Err(scope.throw(&format!("can't list services: {refusal}")))
}

/// What a server makes of one version of reflection.
enum Described {
    As(ReflectedSet),
    NotAtAll(String),
}

/// Whom to ask, and how.
struct Reflection<'a, 'js> {
    scope: Scope<'js>,
    connection: &'a Rc<GrpcConnection>,
    metadata: &'a [(String, String)],
}

impl Reflection<'_, '_> {
    /// Query until all is described.
    fn session(&self, path: &str) -> Result<Described, Thrown> {
        let scope = self.scope;
        let wrong = |why: String| scope.throw(&format!("can't list services: {why}"));
        let mut session = ReflectionSession::of_all();
        let mut held = HeldBytes::new(Vu::of(scope).shared.script.budget());
        for _ in 0..MAX_ROUNDS {
            let requests = session.requests();
            if requests.is_empty() {
                let decoded_bytes = session.decoded_bytes();
                let set = session.finish().map_err(|error| wrong(error.to_string()))?;
                return Ok(Described::As(ReflectedSet { set, decoded_bytes }));
            }
            let reply = self.round(path, &requests)?;
            for message in reply.raw.iter().take(requests.len()) {
                held.grow(message.len()).map_err(|error| wrong(error.to_string()))?;
                session.receive(message).map_err(|error| wrong(error.to_string()))?;
            }
            let code = CODES[usize::from(reply.code.number())];
            let why = format!("rpc error: code = {code} desc = {}", reply.text);
            match reply.code {
                GrpcCode::OK if session.unanswered() == 0 => {}
                GrpcCode::OK => return Err(wrong("the server does not answer every query".to_owned())),
                GrpcCode::UNIMPLEMENTED if reply.raw.is_empty() => return Ok(Described::NotAtAll(why)),
                _ if !reply.raw.is_empty() && session.unanswered() > 0 => session.call_ended(&why),
                _ => return Err(wrong(why)),
            }
        }
        Err(wrong("the server keeps naming files that it has not sent".to_owned()))
    }

    fn round(&self, path: &str, requests: &[Vec<u8>]) -> Result<Rc<GrpcReply>, Thrown> {
        let mut messages = Vec::new();
        requests.iter().for_each(|request| wire::grpc::frame_message(&mut messages, request));
        let call = GrpcCall {
            path: path.to_owned(),
            name: None,
            tags: Vec::new(),
            metadata: self.metadata.to_vec(),
            messages,
            reading: Reading::Raw,
            tagging: Tagging::Status,
        };
        let content = GrpcContent::Call(call);
        wait_for(self.scope, Request { connection: self.connection.clone(), timeout: CALL_TIMEOUT, content })
    }
}
