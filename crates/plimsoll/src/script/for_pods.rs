//! A script as pods of a cluster run it: what it is read from here, and the command line that means the same there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan::Disk;
use conduct::screen;
use conduct::workers::NotedFiles;
use k6::options::is_option_variable;
use k6::{LogSink, ScriptInputs};
use workload::{FilesInMemory, LoadedPlan};

use super::command_line::accept;
use super::loading::{here, load, plan};
use super::log::{DebugLines, ScriptLog};
use super::log_output::LogOutput;
use super::standard_input::STANDARD_INPUT;
use super::{inputs, unusable, values};
use crate::arguments::ScriptArguments;

/// Before the name of a variable of `-e`, in the environment of a pod.
const VARIABLE: &str = "SCRIPT_ENV_";

/// A script that was read here.
pub(crate) struct ScriptForPods {
    /// Its load.
    pub(crate) plan: LoadedPlan,
    /// What it was read from, with the paths.
    pub(crate) files: Vec<(String, Arc<[u8]>)>,
    /// What a pod's environment must have: the values of `-e`, and options.
    pub(crate) environment: BTreeMap<String, String>,
    /// The private keys of its options.
    pub(crate) keys: Vec<String>,
    /// How long `setup` and `teardown` may take.
    pub(crate) besides_the_load: Duration,
    inputs: ScriptInputs,
}

pub(crate) fn read(arguments: &mut ScriptArguments) -> CommandResult<ScriptForPods> {
    accept(arguments)?;
    let refused = |why: &str| Err(Failure::usage(anyhow!("{why}")));
    if arguments.script == Path::new(STANDARD_INPUT) {
        return refused("pods read a script from a file: write standard input to one");
    }
    if arguments.summary_export.is_some() {
        return refused(
            "--summary-export is a file of the first pod, which is gone afterwards: leave it out",
        );
    }
    let inputs = inputs::of(arguments)?;
    if !values::targets(&arguments.out, &inputs.variables)?.is_empty() {
        return refused("-o writes every single value, but workers send totals of each second");
    }
    let noted = Arc::new(NotedFiles::over(Arc::new(Disk)));
    let log = ScriptLog::start(DebugLines::LeftOut, LogOutput::to_stderr())?;
    let loaded = load(inputs.clone(), here(noted.clone(), true, Vec::new()), &log.sink())?;
    loaded.options.notes.iter().for_each(screen::note);
    let plan = plan(&loaded)?;
    drop(log);
    let options = &loaded.options.options;
    Ok(ScriptForPods {
        plan,
        files: noted.content()?,
        environment: environment(&inputs)?,
        keys: options.tls_auth.iter().flatten().filter_map(|auth| auth.key.clone()).collect(),
        besides_the_load: options.setup_timeout() + options.teardown_timeout(),
        inputs,
    })
}

/// Values of `-e` may be secret, as those of options: they are in no command line.
fn environment(inputs: &ScriptInputs) -> CommandResult<BTreeMap<String, String>> {
    let given = inputs.flags.variables().map_err(unusable)?;
    let given = given.into_iter().map(|(name, value)| (format!("{VARIABLE}{name}"), value));
    let options = inputs.variables.iter().filter(|(name, _)| is_option_variable(name));
    Ok(given.chain(options.map(|(name, value)| (name.clone(), value.clone()))).collect())
}

impl ScriptForPods {
    /// The flags that mean there what those of the command line mean here. `place` says where a path of here is there, and
    /// `content` what is there.
    pub(crate) fn arguments_there(
        &self,
        arguments: &ScriptArguments,
        place: impl Fn(&Path) -> PathBuf,
        content: BTreeMap<PathBuf, Arc<[u8]>>,
    ) -> CommandResult<Vec<String>> {
        let there = |path: &Option<PathBuf>| path.as_deref().map(&place);
        let inputs = &self.inputs;
        let is_below =
            |folder: &PathBuf| self.files.iter().any(|(path, _)| Path::new(path).starts_with(folder));
        let import_cache = inputs.import_cache.clone().filter(is_below);
        let in_pod = ScriptInputs {
            path: place(&inputs.path),
            files_under: there(&inputs.files_under),
            import_cache: there(&import_cache),
            config: there(&inputs.config),
            policy: there(&inputs.policy),
            ..inputs.clone()
        };
        self.require_readable(in_pod.clone(), content)?;
        let paths = [
            ("files-under", &in_pod.files_under),
            ("import-cache", &in_pod.import_cache),
            ("config", &in_pod.config),
            ("policy", &in_pod.policy),
        ];
        let mut flags = arguments.flags_for_pods();
        for (name, path) in paths {
            flags.extend(path.as_ref().map(|path| format!("--{name}={}", path.display())));
        }
        // Kubernetes puts a variable of the container for each `$(NAME)`.
        flags.iter_mut().for_each(|flag| *flag = flag.replace("$(", "$$("));
        for name in self.environment.keys().filter_map(|name| name.strip_prefix(VARIABLE)) {
            flags.push(format!("--env={name}=$({VARIABLE}{name})"));
        }
        Ok(flags)
    }

    /// That the script can be read there, from these files alone.
    fn require_readable(
        &self,
        in_pod: ScriptInputs,
        content: BTreeMap<PathBuf, Arc<[u8]>>,
    ) -> CommandResult<()> {
        // What it writes was printed when it was read here.
        let silent: LogSink = Arc::new(|_| {});
        let files: FilesInMemory =
            content.into_iter().map(|(path, content)| (path, content.to_vec())).collect();
        load(in_pod, here(Arc::new(files), false, Vec::new()), &silent).map(drop).map_err(|failure| {
            Failure::usage(anyhow!(
                "the script cannot be read in a pod: it may read a file by an absolute path, which pods do not have: {}",
                failure.text().trim_end()
            ))
        })
    }
}
