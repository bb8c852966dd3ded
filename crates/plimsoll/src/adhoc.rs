//! What `plimsoll http` and `plimsoll grpc` have in common: from their options to a workload, and to a run of it.

use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::plan::Disk;
use conduct::run_file::RunFilePolicy;
use conduct::run_request::RunRequest;
use conduct::signals::Listener;
use conduct::workers::ResolvedRun;
use plans::adhoc::{AdhocError, Pace, Sources};
use plans::asked;
use workload::LoadedPlan;
use workload::connection::{Connecting, IpVersion, TlsSettings};

use crate::arguments::{ConnectArguments, KeepArguments, PaceArguments};
use crate::run;

/// This machine's files and environment.
pub(crate) const SOURCES: Sources<'static> = Sources { files: &Disk, env: &environment };

/// How much is sent, with `users` requests under way at once.
pub(crate) fn pace(arguments: &PaceArguments, users: Option<u32>) -> Pace {
    let PaceArguments { requests, duration, rate, ramp, arrivals, .. } = *arguments;
    Pace { rate, users, requests, duration, ramp, arrivals }
}

/// How a target is connected to.
pub(crate) fn connecting(arguments: &ConnectArguments) -> Connecting {
    let ConnectArguments { insecure, cacert, cert, key, .. } = arguments.clone();
    Connecting {
        tls: TlsSettings { ca: cacert, cert, key, insecure, ..TlsSettings::default() },
        connect_to: arguments.connect_to.clone(),
        unix: arguments.unix_socket.clone(),
        proxy: arguments.proxy.clone(),
        local_addresses: arguments.local_address.clone(),
        ip: match (arguments.ipv4, arguments.ipv6) {
            (true, _) => IpVersion::V4,
            (_, true) => IpVersion::V6,
            _ => IpVersion::Any,
        },
        ..Connecting::default()
    }
}

/// Run the workload that the options describe.
pub(crate) fn conduct(
    listener: &Listener,
    plan: Result<LoadedPlan, AdhocError>,
    arguments: &KeepArguments,
) -> CommandResult<u8> {
    let keep = arguments.output.as_deref().map_or(RunFilePolicy::Temporary, RunFilePolicy::At);
    let mut plan = plan.map_err(Failure::usage)?;
    plan.workload.objectives = asked(&plan.workload, &arguments.objectives).map_err(Failure::usage)?;
    let live_page = run::live_page(&plan, arguments.options.live.as_ref(), &arguments.options.outputs)?;
    let request = RunRequest {
        live_page: live_page.as_ref(),
        ..run::request(keep, arguments.quiet, &arguments.options)
    };
    run::conduct_plan(listener, ResolvedRun { plan, workers: None }, &arguments.options, &request)
}
