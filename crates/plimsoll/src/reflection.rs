//! Before the load: what do gRPC targets serve that no file describes? They are asked themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use engine::Program;
use evidence::GrpcCode;
use wire::grpc::{Deframer, frame_message};
use workload::message::reflection::{PATHS, ReflectionSession};
use workload::model::{GrpcOrigin, Target};
use workload::plan::LoadedPlan;

use crate::failure::{Failure, Outcome};
use crate::ready::{Asker, Call};

/// How long one round of questions may take.
const ONE_ROUND: Duration = Duration::from_secs(10);
/// Each round asks for the imports of the one before, which nobody nests deeper.
const MAX_ROUNDS: usize = 64;
/// The most that is read of one round's answers.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Ask every target that has no description and is called, once it is ready, and put what it says into the plan.
pub(crate) fn describe(plan: &mut LoadedPlan) -> Outcome<()> {
    let undescribed = plan.undescribed();
    if undescribed.is_empty() {
        return Ok(());
    }
    let tls = Program::tls_of(plan).map_err(Failure::usage)?;
    for (name, services) in undescribed {
        let Some(target) = plan.workload.targets.get(&name) else { continue };
        let asker = Asker { connecting: &target.connecting, tls: tls.get(&name) };
        let set = learn(&asker, target, services);
        let described = set.and_then(|set| Ok(plan.schemas.add_set(&name, &set)?));
        described.with_context(|| format!("target `{name}`")).map_err(Failure::usage)?;
    }
    Ok(())
}

fn learn(asker: &Asker<'_>, target: &Target, services: BTreeSet<String>) -> anyhow::Result<Vec<u8>> {
    if let Some(wait) = &target.wait_ready {
        asker.wait_for(wait)?;
    }
    let grpc = target.grpc.as_ref().ok_or_else(|| anyhow!("it is no gRPC target"))?;
    for path in PATHS {
        if let Some(set) = converse(asker, (grpc, path), services.clone())? {
            return Ok(set);
        }
    }
    bail!("it offers no reflection; name the files that describe it: `proto = [\"service.proto\"]`")
}

/// Ask until all is known; none when the server does not know this version of reflection.
fn converse(
    asker: &Asker<'_>,
    (grpc, path): (&GrpcOrigin, &str),
    services: BTreeSet<String>,
) -> anyhow::Result<Option<Vec<u8>>> {
    let mut session = ReflectionSession::new(services);
    let authority = grpc.authority();
    for _ in 0..MAX_ROUNDS {
        let questions = session.requests();
        if questions.is_empty() {
            return Ok(Some(session.finish()?));
        }
        let mut body = Vec::new();
        questions.iter().for_each(|question| frame_message(&mut body, question));
        let call = Call { path, body: &body, limit: ONE_ROUND, keep_bytes: MAX_ANSWER_BYTES };
        let answer =
            asker.call((grpc.scheme, &authority), &call).context("its reflection cannot be asked")?;
        let mut messages = Vec::new();
        Deframer::default().push(&answer.body, |framed| messages.push(framed.payload().to_vec()))?;
        ensure!(messages.len() <= questions.len(), "its reflection answers what it was not asked");
        messages.iter().try_for_each(|message| session.receive(message))?;
        match answer.code() {
            Some(GrpcCode::OK) => {
                ensure!(session.unanswered() == 0, "its reflection does not answer every question");
            }
            Some(GrpcCode::UNIMPLEMENTED) if messages.is_empty() => return Ok(None),
            Some(code) if session.unanswered() > 0 => session.call_ended(&code.to_string()),
            Some(code) => bail!("its reflection answers {code}"),
            None => bail!("its reflection answers without a status"),
        }
    }
    bail!("its reflection goes on naming files that it has not shown")
}
