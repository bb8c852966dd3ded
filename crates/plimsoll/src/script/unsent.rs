//! Requests of scripts that could not be sent: k6 goes on, and what they were for was not tested.

use std::collections::BTreeSet;

use conduct::screen;
use evidence::visible;
use k6::LoadedScript;
use workload::redact::shown_address;

use crate::arguments::ScriptArguments;

/// Note that requests could not be sent, if any could not, with the variables that are not set.
pub(super) fn note(loaded: &LoadedScript, arguments: &ScriptArguments) {
    let requests = loaded.script.requests();
    let Some(url) = requests.first_unsent() else { return };
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
    let which =
        if requests.has_sent() { "some requests could not be sent" } else { "no request could be sent" };
    screen::note(format_args!("{which} (`{}`): {next}", visible(&shown_address(url))));
}

/// The variables that a script reads, each once.
fn variables(script: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let after = script.split("__ENV.").skip(1);
    let named =
        after.map(move |rest| rest.split(|character| !is_of_name(character)).next().unwrap_or_default());
    named.filter(|name| !name.is_empty()).collect::<BTreeSet<&str>>().into_iter()
}
