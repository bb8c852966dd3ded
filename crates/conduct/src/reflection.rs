//! Before the load: gRPC services that no `.proto` file describes are described by the target's server reflection.

use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use engine::Program;
use evidence::GrpcCode;
use plans::descriptions;
use wire::WireError;
use wire::grpc::{Deframer, frame_message};
use workload::LoadedPlan;
use workload::connection::Scheme;
use workload::message::reflection::{PATHS, ReflectionSession};
use workload::message::{Method, Schemas};
use workload::model::{GrpcOrigin, Target};

use crate::failure::{CommandResult, Failure, Unreachable};
use crate::ready::{Call, Origin, Prober, scheme};

/// Time limit of one round of queries.
const ROUND_LIMIT: Duration = Duration::from_secs(10);
/// Each round asks for the imports of the one before; real imports are not nested deeper.
const MAX_ROUNDS: usize = 64;
/// The most that is read of one round's answers.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// Query every target that is called and not described, once it is ready, and add its descriptors to the plan.
pub fn describe(plan: &mut LoadedPlan) -> CommandResult<()> {
    let undescribed = plan.undescribed();
    if undescribed.is_empty() {
        return Ok(());
    }
    let tls = Program::tls_of(plan).map_err(Failure::usage)?;
    for (name, services) in undescribed {
        let Some(target) = plan.workload.targets.get(&name) else { continue };
        let prober = Prober { connecting: &target.connecting, tls: tls.get(&name), env: &plan.env };
        let set = fetch_descriptors(&prober, target, &|| ReflectionSession::new(services.clone()));
        let described = set.and_then(|set| Ok(descriptions::add_set(&mut plan.schemas, &name, &set)?));
        described.with_context(|| format!("target `{name}`")).map_err(Failure::usage)?;
    }
    Ok(())
}

/// Every method that the target of this name lists.
pub fn methods(plan: &LoadedPlan, name: &str) -> CommandResult<Vec<Method>> {
    let tls = Program::tls_of(plan).map_err(Failure::usage)?;
    let Some(target) = plan.workload.targets.get(name) else { return Ok(Vec::new()) };
    let prober = Prober { connecting: &target.connecting, tls: tls.get(name), env: &plan.env };
    let mut schemas = Schemas::default();
    let set = fetch_descriptors(&prober, target, &ReflectionSession::of_all);
    let described = set.and_then(|set| Ok(descriptions::add_set(&mut schemas, name, &set)?));
    described.with_context(|| format!("target `{name}`")).map_err(Failure::usage)?;
    Ok(schemas.methods(name))
}

fn fetch_descriptors(
    prober: &Prober<'_>,
    target: &Target,
    session: &dyn Fn() -> ReflectionSession,
) -> anyhow::Result<Vec<u8>> {
    if let Some(wait) = &target.wait_ready {
        prober.wait_for(wait)?;
    }
    let grpc = target.grpc.as_ref().ok_or_else(|| anyhow!("it is not a gRPC target"))?;
    for path in PATHS {
        if let Some(set) = query(prober, grpc, path, session())? {
            return Ok(set);
        }
    }
    bail!("it offers no reflection; name the files that describe it: `proto = [\"service.proto\"]`")
}

/// Query until all descriptors are known; none when the server does not have this version of reflection.
fn query(
    prober: &Prober<'_>,
    grpc: &GrpcOrigin,
    path: &str,
    mut session: ReflectionSession,
) -> anyhow::Result<Option<Vec<u8>>> {
    let authority = grpc.authority();
    for _ in 0..MAX_ROUNDS {
        let requests = session.requests();
        if requests.is_empty() {
            return Ok(Some(session.finish()?));
        }
        let mut body = Vec::new();
        requests.iter().for_each(|request| frame_message(&mut body, request));
        let call = Call { path, body: &body, limit: ROUND_LIMIT, most_bytes: MAX_ANSWER_BYTES };
        let answer = prober
            .call(Origin { scheme: grpc.scheme, authority: &authority }, &call)
            .map_err(|error| match grpc.scheme {
                Scheme::Http if scheme::speaks_tls(&authority) => {
                    anyhow!("this port speaks TLS: write `https://{authority}`")
                }
                Scheme::Http if error.downcast_ref() == Some(&WireError::NotHttp2) => anyhow!(
                    "{}, as gRPC needs; if it serves HTTP: `plimsoll http://{authority}`",
                    WireError::NotHttp2
                ),
                _ => error,
            })
            .context(Unreachable("its reflection cannot be asked".to_owned()))?;
        let (mut messages, mut received) = (0, Ok(()));
        Deframer::default().push(&answer.body, |framed| {
            messages += 1;
            if messages <= requests.len() && received.is_ok() {
                received = session.receive(framed.payload());
            }
        })?;
        received?;
        ensure!(messages <= requests.len(), "its reflection sends more answers than there were queries");
        match answer.code() {
            Some(GrpcCode::OK) => {
                ensure!(session.unanswered() == 0, "its reflection does not answer every query");
            }
            Some(GrpcCode::UNIMPLEMENTED) if messages == 0 => return Ok(None),
            Some(code) if session.unanswered() > 0 => session.call_ended(&code.to_string()),
            Some(code) => bail!("its reflection answers {code}"),
            None => bail!("its reflection answers without a status"),
        }
    }
    bail!("its reflection keeps naming files that it has not sent")
}
