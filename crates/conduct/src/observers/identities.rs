//! What answers at each target: its process, and the servers that it is or uses.

use std::collections::BTreeMap;

use workload::model::Target;
use workload::observation::filled_address;
use workload::{Redactor, Workload};

use crate::environment::Environment;
use crate::manifest::{Identities, sha256_hex, watched};

/// Longer facts are cut, so that a class path of kilobytes fits into a report.
const MOST_BYTES: usize = 4_096;

/// What is known of the processes and servers of each target, without secrets. Programs are read as a whole and servers
/// are asked, so it may take seconds.
pub(crate) fn identities(workload: &Workload, env: &Environment) -> Identities {
    let redactor = Redactor::new(workload, env);
    let targets = workload.targets.iter();
    targets.map(|(name, target)| (name.clone(), identity(target, env, &redactor))).collect()
}

fn identity(target: &Target, env: &Environment, redactor: &Redactor) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Some(server) = &target.observe.postgres {
        let about = observe::identify_postgres(&filled_address(&server.url, env));
        facts.extend(about.unwrap_or_else(|why| {
            BTreeMap::from([("postgres".to_owned(), format!("not identified: {why}"))])
        }));
    }
    if let Some(process) = &target.process {
        match observe::identify(watched(process)) {
            Ok(process) => {
                facts.extend(process.facts);
                let line = process.command_line.map_or_else(|why| why, |words| redactor.command_line(&words));
                facts.insert("command_line".to_owned(), line);
            }
            Err(error) => {
                facts.insert("process".to_owned(), format!("not found: {error}"));
            }
        }
    }
    // A server may repeat what it was asked with.
    let redacted = |text: String| cut(redactor.without_cut_values(&text).into_owned());
    facts.into_iter().map(|(fact, text)| (fact, redacted(text))).collect()
}

/// A text whose length is bounded; two that were cut are equal only if the whole texts are.
fn cut(text: String) -> String {
    if text.len() <= MOST_BYTES {
        return text;
    }
    let kept = &text[..text.floor_char_boundary(MOST_BYTES)];
    format!("{kept}… ({} bytes, SHA-256 {})", text.len(), sha256_hex(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_facts_are_cut_and_stay_distinct() {
        let [one, other] = ["a", "b"].map(|end| cut("x".repeat(MOST_BYTES) + end));
        assert!(one.len() < MOST_BYTES + 200 && one.contains("… (4097 bytes, SHA-256 "), "{one}");
        assert_ne!(one, other);
        assert_eq!(cut("short".to_owned()), "short");
    }
}
