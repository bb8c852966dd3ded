//! Requests of scripts that could not be sent: k6 goes on, and what they were for was not tested.

use std::collections::BTreeSet;

use conduct::screen;
use evidence::{Verdict, visible};
use k6::LoadedScript;
use workload::redact::shown_address;

use crate::arguments::ScriptArguments;

/// FAIL of a run in which none could be sent, none of any other. Where any could not, that is said with the variables that are not
/// set.
pub(super) fn verdict(loaded: &LoadedScript, arguments: &ScriptArguments) -> Option<Verdict> {
    let requests = loaded.script.requests();
    let url = shown_address(requests.first_unsent()?);
    let text = std::fs::read_to_string(&arguments.script).unwrap_or_default();
    let is_set = |name: &str| {
        let given = arguments.env.iter().any(|pair| pair.split('=').next() == Some(name));
        given || std::env::var_os(name).is_some()
    };
    let unset: Vec<String> =
        variables(&text).filter(|name| !is_set(name)).map(|name| format!("`-e {name}=…`")).collect();
    let next = match unset.is_empty() {
        true => "the log says why".to_owned(),
        false => format!("the script reads variables that are not set: {}", unset.join(" ")),
    };
    let has_sent = requests.has_sent();
    let which = if has_sent { "some requests could not be sent" } else { "no request could be sent" };
    screen::note(format_args!("{which} (`{}`): {next}", visible(&url)));
    (!has_sent && !arguments.k6_exit_codes).then_some(Verdict::Fail)
}

/// The variables that a script reads, each once.
fn variables(script: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let after = script.split("__ENV.").skip(1);
    let named =
        after.map(move |rest| rest.split(|character| !is_of_name(character)).next().unwrap_or_default());
    named.filter(|name| !name.is_empty()).collect::<BTreeSet<&str>>().into_iter()
}
