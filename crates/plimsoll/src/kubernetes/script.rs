//! `plimsoll run SCRIPT --kubernetes N` and `plimsoll manifest SCRIPT`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cluster::kubernetes::{FilesFrom, Layout, RunObjects, SecretFrom, load_end, name_of};
use conduct::failure::{CommandResult, Failure};
use kubernetes::Destination;
use kubernetes::objects::{BESIDES_THE_LOAD, cpu_of, drawn_name, files_from, made_secret};

use super::{conduct, pods_of, print_manifest, require_no_live_page};
use crate::arguments::{ScriptArguments, ScriptManifestArguments};
use crate::script::{ScriptForPods, read_for_pods};

/// `plimsoll run SCRIPT --kubernetes N`.
pub(crate) fn run_script(arguments: &mut ScriptArguments, pods: u16) -> CommandResult<u8> {
    require_no_live_page(arguments.live.as_ref())?;
    let script = read_for_pods(arguments)?;
    let arguments = &*arguments;
    let destination = Destination { path: arguments.evidence.as_deref(), force: arguments.force };
    conduct(&arguments.kubernetes, destination, arguments.quiet, &arguments.outputs, || {
        let secret = made_secret(script.environment.clone())?;
        objects(&script, arguments, pods, (drawn_name(&script.plan.workload.name)?, secret))
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
    let pods = arguments.script.kubernetes.kubernetes.ok_or_else(|| needs("--kubernetes NUMBER"))?;
    print_manifest(&objects(&script, &arguments.script, pods, (name, secret))?)
}

fn objects(
    script: &ScriptForPods,
    arguments: &ScriptArguments,
    pods: u16,
    named: (String, SecretFrom),
) -> CommandResult<RunObjects> {
    let (name, secret) = named;
    let asked = &pods_of(&arguments.kubernetes.pods, pods);
    let image = asked.image.clone().ok_or_else(|| needs("--image"))?;
    let here = std::env::current_dir().context("the current folder is not known").map_err(Failure::own)?;
    let layout = Layout::new(
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
    Ok(RunObjects {
        name,
        namespace: arguments.kubernetes.cluster.namespace.clone(),
        image,
        pods,
        cpu: cpu_of(asked, arguments.loops),
        memory: asked.memory.clone(),
        plan: layout.plan.clone(),
        files,
        run_file_claim: asked.run_file_claim.clone(),
        arguments: flags,
        secret,
        // Whom a script asks is known when it does.
        reached: None,
        start_limit_s: asked.start_limit_s,
        run_limit_s: u32::try_from(run_limit.as_secs()).unwrap_or(u32::MAX),
    })
}

fn needs(what: &str) -> Failure {
    Failure::usage(anyhow!("a run in a cluster needs {what}"))
}

/// Where a file or folder below the common one is in a pod.
fn in_pod(files: &FilesFrom, below: &Path) -> PathBuf {
    // Joining nothing would end the path with a separator.
    let root = PathBuf::from(files.path(""));
    root.components().chain(below.components()).collect()
}
