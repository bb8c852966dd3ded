//! `plimsoll run SCRIPT --kubernetes N` and `plimsoll manifest SCRIPT`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cluster::RunKeys;
use cluster::kubernetes::{FilesFrom, Layout, RunObjects, SecretFrom, load_end, name_of};
use conduct::failure::{CommandResult, Failure};
use conduct::run_request::Progress;

use super::objects::{BESIDES_THE_LOAD, drawn_name, files_from, with_cpu};
use super::retrieve::Destination;
use super::{AskedRun, print_manifest};
use crate::arguments::{ScriptArguments, ScriptManifestArguments};
use crate::script::{ScriptForPods, read_for_pods};

/// `plimsoll run SCRIPT --kubernetes N`.
pub(crate) fn run_script(arguments: &mut ScriptArguments, pods: u16) -> CommandResult<u8> {
    let script = read_for_pods(arguments)?;
    let arguments = &*arguments;
    let asked = AskedRun {
        pods,
        kubernetes: &arguments.kubernetes,
        destination: Destination { path: arguments.evidence.as_deref(), force: arguments.force },
        progress: Progress::unless(arguments.quiet),
        outputs: &arguments.outputs,
    };
    asked.run(|| {
        let keys = RunKeys::make().map_err(Failure::own)?;
        let secret = SecretFrom::Made { keys, environment: script.environment.clone() };
        objects(&script, arguments, (drawn_name(&script.plan.workload.name)?, secret))
    })
}

/// `plimsoll manifest SCRIPT --kubernetes N`.
pub(crate) fn manifest_of_script(arguments: &mut ScriptManifestArguments) -> CommandResult<u8> {
    let script = read_for_pods(&mut arguments.script)?;
    let name = arguments.name.clone().unwrap_or_else(|| name_of(&script.plan.workload.name));
    let secret = SecretFrom::Existing {
        name: arguments.secret.clone().unwrap_or_else(|| name.clone()),
        environment: script.environment.keys().cloned().collect(),
    };
    print_manifest(&objects(&script, &arguments.script, (name, secret))?)
}

fn objects(
    script: &ScriptForPods,
    arguments: &ScriptArguments,
    named: (String, SecretFrom),
) -> CommandResult<RunObjects> {
    let (name, secret) = named;
    let asked = &arguments.kubernetes.pods;
    let needs = |what: &str| Failure::usage(anyhow!("a run in a cluster needs {what}"));
    let pods = arguments.kubernetes.kubernetes.ok_or_else(|| needs("--kubernetes NUMBER"))?;
    let image = asked.image.clone().ok_or_else(|| needs("--image"))?;
    let here = std::env::current_dir().context("the current folder is not known").map_err(Failure::own)?;
    let layout = Layout::of(
        &here,
        &std::path::absolute(&arguments.script).map_err(Failure::usage)?,
        script.files.clone(),
    )
    .map_err(Failure::usage)?;
    let of_policy = script.plan.tls.values().filter_map(|files| files.key.as_deref());
    let keys = of_policy.chain(script.keys.iter().map(String::as_bytes));
    let files = files_from(asked, layout.files.clone(), keys, &script.environment);
    let there = |path: &Path| in_pod(&files, &layout.place(&here, path));
    let content =
        layout.files.iter().map(|(path, content)| (in_pod(&files, Path::new(path)), content.clone()));
    let flags = script.arguments_there(arguments, there, content.collect())?;
    let run_limit = load_end(&script.plan.workload) + script.besides_the_load + BESIDES_THE_LOAD;
    let mut objects = RunObjects {
        name,
        namespace: arguments.kubernetes.cluster.namespace.clone(),
        image,
        pods,
        cpu: String::new(),
        memory: asked.memory.clone(),
        plan: layout.plan.clone(),
        files,
        run_file_claim: asked.run_file_claim.clone(),
        arguments: flags,
        secret,
        // Whom a script asks is known when it does.
        reached: None,
        start_limit_s: asked.start_timeout,
        run_limit_s: u32::try_from(run_limit.as_secs()).unwrap_or(u32::MAX),
    };
    with_cpu(&mut objects, asked, arguments.loops);
    Ok(objects)
}

/// Where a file or folder below the common one is in a pod.
fn in_pod(files: &FilesFrom, below: &Path) -> PathBuf {
    // Joining nothing would end the path with a separator.
    let root = PathBuf::from(files.path(""));
    root.components().chain(below.components()).collect()
}
