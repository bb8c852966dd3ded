//! What a run in a cluster is made of, from a plan and how it is to be run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use cluster::kubernetes::{
    FilesFrom, KEYS_ENTRY, Layout, Reached, RunObjects, SecretFrom, load_end, name_of,
};
use cluster::{RunKeys, Token};
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::run_request::OutTarget;
use conduct::workers::resolve_plan;
use plans::Overrides;
use workload::LoadedPlan;

use crate::secret_files::is_secret;

/// Besides its load, a run waits for its target, sends its setup, drains, and is closed and judged.
pub const BESIDES_THE_LOAD: Duration = Duration::from_secs(900);
/// How many digits make the name of a run differ from that of the next.
const DIGITS: usize = 5;

/// A plan that was read here, with what it was read from.
struct ReadPlan {
    plan: LoadedPlan,
    layout: Layout,
    environment: BTreeMap<String, String>,
}

/// The pods that a run is to have.
#[derive(Debug, Clone)]
pub struct PodOptions {
    pub count: u16,
    pub image: Option<String>,
    /// The processors that are requested for each; none: one for each loop.
    pub cpu: Option<String>,
    pub memory: String,
    /// Where they find the plan and its files; none: in objects of the run.
    pub files_in: Option<FilesPlace>,
    /// The claim of the volume for the run file.
    pub run_file_claim: Option<String>,
    /// How many seconds they have to be started and ready.
    pub start_limit_s: u32,
}

/// Where files are that no ConfigMap contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesPlace {
    /// This folder of the image.
    Image(String),
    /// The volume of this claim.
    Claim(String),
}

/// A plan, and what decides what is offered of it.
pub struct RunOfPlan<'a> {
    /// Its file.
    pub plan: &'a Path,
    /// The changes to it.
    pub overrides: &'a Overrides,
    /// Loops of each pod.
    pub loops: u16,
    /// Whether the load is offered without sending each step once before it.
    pub no_precheck: bool,
    /// The other systems that receive series of the run.
    pub outs: &'a [OutTarget],
    pub pods: &'a PodOptions,
}

/// The objects of a run that this command makes, with the secrets of this environment.
pub fn for_command(run: &RunOfPlan<'_>, namespace: Option<String>) -> CommandResult<RunObjects> {
    let read = ReadPlan::at(run, &environment)?;
    let secret = made_secret(read.environment.clone())?;
    let name = drawn_name(&read.plan.workload.name)?;
    let mut objects = read.objects(run, (name, secret))?;
    objects.namespace = namespace;
    for out in run.outs {
        objects.arguments.extend(["--out".to_owned(), format!("{}={}", out.protocol.name(), out.url)]);
        let reached = Reached::of_url(&out.url);
        objects.reached.iter_mut().for_each(|known| known.extend(reached.clone()));
    }
    Ok(objects)
}

/// The objects of a run that are printed for a repository: secrets are in a Secret that another program or person makes, and
/// their values need not be here.
pub fn for_repository(
    run: &RunOfPlan<'_>,
    name: Option<&str>,
    secret: Option<&str>,
) -> CommandResult<RunObjects> {
    let named = |name: &str| Some(environment(name).unwrap_or_else(|| name.to_owned()));
    let read = ReadPlan::at(run, &named)?;
    let name = name.map_or_else(|| name_of(&read.plan.workload.name), str::to_owned);
    let secret = SecretFrom::Existing {
        name: secret.unwrap_or(&name).to_owned(),
        environment: read.environment.keys().cloned().collect(),
    };
    read.objects(run, (name, secret))
}

/// The Secret of a run that this command makes: new keys, and these variables.
pub fn made_secret(environment: BTreeMap<String, String>) -> CommandResult<SecretFrom> {
    let keys = RunKeys::make().map_err(Failure::own)?;
    Ok(SecretFrom::Made { keys, environment })
}

/// A name for this run of a workload, unlike that of the next.
pub fn drawn_name(workload: &str) -> CommandResult<String> {
    let token = Token::drawn().map_err(Failure::own)?;
    let digits: String = token.text().chars().take(DIGITS).collect();
    Ok(format!("{}-{digits}", name_of(workload)))
}

/// The processors that are requested for each of these pods.
pub fn cpu_of(pods: &PodOptions, loops: u16) -> String {
    pods.cpu.clone().unwrap_or_else(|| loops.to_string())
}

/// What a reader of the printed documents must do before they are applied.
pub fn heading(objects: &RunObjects) -> String {
    let mut text = format!(
        "# A run of plimsoll over {} pods. It reads the Secret `{}`,",
        objects.pods,
        secret_name(objects)
    );
    text.push_str(" which is not part of this file:\n#   plimsoll worker --make-keys run.pem\n");
    text.push_str(&format!("#   kubectl create secret generic {} --from-file=run.pem", secret_name(objects)));
    for entry in objects.secret_entries().iter().filter(|entry| *entry != KEYS_ENTRY) {
        let form = if entry.contains('-') { "file" } else { "literal" };
        text.push_str(&format!(" --from-{form}={entry}=…"));
    }
    text.push_str(&format!("\n# When it has ended, within 30 minutes: `plimsoll fetch {}`.\n", objects.name));
    text
}

fn secret_name(objects: &RunObjects) -> &str {
    match &objects.secret {
        SecretFrom::Existing { name, .. } => name,
        SecretFrom::Made { .. } => &objects.name,
    }
}

impl ReadPlan {
    fn at(run: &RunOfPlan<'_>, environment: &dyn Fn(&str) -> Option<String>) -> CommandResult<ReadPlan> {
        let (plan, hand_over) = resolve_plan(run.plan, run.overrides, environment)?;
        let here =
            std::env::current_dir().context("the current folder is not known").map_err(Failure::own)?;
        let files = hand_over.files().into_iter().map(|(file, content)| (file.path, content));
        let layout = Layout::of_plan(&here, run.plan, files.collect()).map_err(Failure::usage)?;
        Ok(ReadPlan { plan, layout, environment: hand_over.environment() })
    }

    fn objects(self, run: &RunOfPlan<'_>, named: (String, SecretFrom)) -> CommandResult<RunObjects> {
        let ((name, secret), asked) = (named, run.pods);
        let image = asked.image.clone().context("--kubernetes needs --image").map_err(Failure::usage)?;
        let workload = &self.plan.workload;
        let run_limit = load_end(workload) + BESIDES_THE_LOAD;
        let reached = Reached::all_of(&self.plan);
        let keys = self.plan.tls.values().filter_map(|files| files.key.as_deref());
        let files = files_from(asked, self.layout.files, keys, &self.environment);
        Ok(RunObjects {
            name,
            namespace: None,
            image,
            pods: asked.count,
            cpu: cpu_of(asked, run.loops),
            memory: asked.memory.clone(),
            plan: self.layout.plan,
            files,
            run_file_claim: asked.run_file_claim.clone(),
            arguments: run_arguments(run.overrides, run.loops, run.no_precheck),
            secret,
            reached: Some(reached),
            start_limit_s: asked.start_limit_s,
            run_limit_s: u32::try_from(run_limit.as_secs()).unwrap_or(u32::MAX),
        })
    }
}

/// Where pods have these files from. `keys` are the run's private keys, and `environment` is in its Secret.
pub fn files_from<'a>(
    asked: &PodOptions,
    files: BTreeMap<String, Arc<[u8]>>,
    keys: impl IntoIterator<Item = &'a [u8]>,
    environment: &BTreeMap<String, String>,
) -> FilesFrom {
    match &asked.files_in {
        Some(FilesPlace::Image(folder)) => FilesFrom::Image(folder.clone()),
        Some(FilesPlace::Claim(name)) => FilesFrom::Claim(name.clone()),
        None => {
            let values = environment.values().map(|value| value.as_bytes());
            let contents: Vec<&[u8]> = files.values().map(|content| &**content).chain(values).collect();
            let is_secret = is_secret(keys, &contents);
            let (secret, open) = files
                .iter()
                .map(|(path, content)| (path.clone(), content.clone()))
                .partition(|(_, content)| is_secret(content));
            FilesFrom::Objects { open, secret }
        }
    }
}

/// The options of `plimsoll run` that decide what is offered.
fn run_arguments(overrides: &Overrides, loops: u16, no_precheck: bool) -> Vec<String> {
    let mut arguments = vec!["--loops".to_owned(), loops.to_string()];
    for (name, address) in &overrides.targets {
        arguments.extend(["--target".to_owned(), format!("{name}={address}")]);
    }
    let numbers = [
        ("--time-scale", overrides.time_scale.map(|factor| factor.to_string())),
        ("--load", overrides.load.map(|factor| factor.to_string())),
        ("--seed", overrides.seed.map(|seed| seed.to_string())),
    ];
    for (name, value) in numbers {
        arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    let switches = [
        ("--until-decided", overrides.until_decided),
        ("--abort-on-fail", overrides.abort_on_fail),
        ("--no-precheck", no_precheck),
    ];
    for (name, is_asked) in switches {
        arguments.extend(is_asked.then(|| name.to_owned()));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_the_load_is_handed_on() {
        let overrides = Overrides {
            targets: [("api".to_owned(), "http://api:80".to_owned())].into(),
            time_scale: Some(0.5),
            load: Some(2.0),
            seed: Some(7),
            until_decided: true,
            abort_on_fail: true,
        };
        let all = "--loops 2 --target api=http://api:80 --time-scale 0.5 --load 2 --seed 7 --until-decided --abort-on-fail --no-precheck";
        assert_eq!(run_arguments(&overrides, 2, true).join(" "), all);
        assert_eq!(run_arguments(&Overrides::default(), 1, false).join(" "), "--loops 1");
    }
}
