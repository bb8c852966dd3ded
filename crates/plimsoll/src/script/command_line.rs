//! What a command line is completed by, which of it is refused, and what is shown of it before the load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use evidence::TerminalText;

use super::LoadedScript;
use super::value_output::{self, unusable};
use crate::arguments::ScriptArguments;
use crate::failure::CommandResult;
use crate::outputs;

/// Complete flags by variables, and refuse or note those that have no effect.
pub(super) fn accept(arguments: &mut ScriptArguments) -> CommandResult<()> {
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    if arguments.script.extension().is_some_and(|ending| ending == "tar") {
        let script = arguments.script.display();
        return Err(unusable(format_args!("{script}: archives are not read: unpack it and run its script")));
    }
    if let Some(why) = arguments.foreign.refusal(&variables) {
        return Err(unusable(why));
    }
    arguments.foreign.notes().iter().for_each(outputs::note);
    arguments.complete(&variables).map_err(unusable)
}

/// What k6 shows of the load before it begins, unless standard output is for something else.
pub(super) fn show_header(arguments: &ScriptArguments, loaded: &LoadedScript) -> CommandResult<()> {
    if arguments.quiet || arguments.outputs.named().contains(&Some(Path::new("-"))) {
        return Ok(());
    }
    let mut text = TerminalText::default();
    let outputs = value_output::described(&loaded.value_targets);
    let script = arguments.script.display();
    let head = format!("     execution: local\n        script: {script}\n        output: {outputs}\n\n");
    text.quote("", &format!("\n{head}{}\n", loaded.options.header().join("\n")));
    outputs::print(&text)
}

/// Modules that are imported by URL, in the user's cache.
pub(super) fn default_import_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("plimsoll/imports"))
}
