//! What a command line names to be watched, as the targets of a workload.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::anyhow;
use workload::Template;
use workload::model::{ProcessRef, Target};
use workload::observation::{CgroupRef, Observation, Postgres, Prometheus, Redis};
use workload::redact::{env_value, shown_address};
use workload::template::Value;

use crate::environment::environment;
use crate::failure::{CommandResult, Failure};

const EVERY: Duration = Duration::from_secs(1);
const KINDS: &str = "a process (`1234`, `:8000` for the one that listens there), `cgroup:PATH`, `container:NAME`, a \
     Prometheus page (`http://…`), `postgresql://…` or `redis://…`";

/// The targets that `subjects` name. Those of one name are one target: `web=:8000 web=http://127.0.0.1:8000/metrics`.
pub(super) fn targets(subjects: &[String]) -> CommandResult<BTreeMap<String, Target>> {
    let mut targets: BTreeMap<String, Target> = BTreeMap::new();
    for subject in subjects {
        let (name, what) = named(subject);
        let read = read(what).ok_or_else(|| {
            let shown = shown_address(subject);
            let is_word = what.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
            let by_name = if is_word && !what.is_empty() {
                format!("; a process is named by its id, `plimsoll monitor $(pidof {what})`, or by its port")
            } else {
                String::new()
            };
            Failure::usage(anyhow!("`{shown}` cannot be watched: it is neither {KINDS}{by_name}"))
        })?;
        let name = name.unwrap_or_else(|| name_of(what));
        if !merge(targets.entry(name.clone()).or_default(), read) {
            return Err(Failure::usage(anyhow!("`{name}` has two of one kind; give them different names")));
        }
    }
    Ok(targets)
}

/// `NAME=SUBJECT`.
fn named(subject: &str) -> (Option<String>, &str) {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    match subject.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, what)) => (Some(name.to_owned()), what),
        None => (None, subject),
    }
}

/// A URL is called by its place, everything else by itself.
fn name_of(what: &str) -> String {
    let what = shown_address(what);
    let Some((_, rest)) = what.split_once("://") else { return what };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, place)| place).to_owned()
}

fn read(what: &str) -> Option<Target> {
    let observed = |observe: Observation| Some(Target { observe, ..Target::default() });
    let url = || what.to_owned();
    match what.split_once("://").map(|(scheme, _)| scheme) {
        Some("http" | "https") => {
            let prometheus = Some(Prometheus { url: url(), keep: Vec::new(), every: EVERY });
            observed(Observation { prometheus, ..Observation::default() })
        }
        Some("postgresql" | "postgres") => {
            let postgres = Some(Postgres { url: url(), tables: Vec::new(), every: EVERY });
            observed(Observation { postgres, ..Observation::default() })
        }
        Some("redis" | "rediss") => observed(Observation {
            redis: Some(Redis { url: url(), every: EVERY }),
            ..Observation::default()
        }),
        Some(_) => None,
        None => match group(what) {
            Some(group) => observed(Observation { cgroup: Some(group), ..Observation::default() }),
            None => Some(Target { process: Some(process(what)?), ..Target::default() }),
        },
    }
}

fn group(what: &str) -> Option<CgroupRef> {
    if let Some(name) = what.strip_prefix("container:") {
        return Some(CgroupRef::Container(name.to_owned()));
    }
    let path = what.strip_prefix("cgroup:").or(Some(what).filter(|path| path.starts_with('/')));
    path.map(|path| CgroupRef::Path(path.to_owned()))
}

/// `1234` and `pid:1234` are process ids; `:8000` and `port:8000` are ports that a process listens on.
fn process(what: &str) -> Option<ProcessRef> {
    match what.strip_prefix("port:").or_else(|| what.strip_prefix(':')) {
        Some(port) => port.parse().ok().filter(|port| *port > 0).map(ProcessRef::Port),
        None => what.strip_prefix("pid:").unwrap_or(what).parse().ok().map(ProcessRef::Pid),
    }
}

/// Whether `more` has nothing that `target` has already.
fn merge(target: &mut Target, more: Target) -> bool {
    fn put<T>(place: &mut Option<T>, more: Option<T>) -> bool {
        let is_free = place.is_none() || more.is_none();
        *place = more.or_else(|| place.take());
        is_free
    }
    put(&mut target.process, more.process)
        && put(&mut target.observe.cgroup, more.observe.cgroup)
        && put(&mut target.observe.prometheus, more.observe.prometheus)
        && put(&mut target.observe.postgres, more.observe.postgres)
        && put(&mut target.observe.redis, more.observe.redis)
}

/// The environment variables that URLs name, with their values.
pub(super) fn env(targets: &BTreeMap<String, Target>) -> CommandResult<BTreeMap<String, String>> {
    let mut env = BTreeMap::new();
    for url in targets.values().flat_map(|target| target.observe.urls()) {
        let Ok(template) = Template::parse(url) else { continue };
        for value in template.values() {
            let Value::Env(name) = value else { continue };
            let known = env_value(name, &environment);
            env.insert(name.clone(), known.map_err(|message| Failure::usage(anyhow!(message)))?);
        }
    }
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(subjects: &[&str]) -> Result<BTreeMap<String, Target>, String> {
        let subjects: Vec<String> = subjects.iter().map(|text| (*text).to_owned()).collect();
        targets(&subjects).map_err(|failure| failure.text().to_string())
    }

    #[test]
    fn every_kind_is_recognised_by_its_form() {
        let all =
            ["12", ":80", "/a/b", "cgroup:x", "container:db", "http://h:1/metrics", "postgres://u@p:5/d"];
        let targets = read_all(&all).unwrap();
        let kinds: Vec<(&str, [bool; 4])> = targets
            .iter()
            .map(|(name, t)| {
                let Observation { cgroup, prometheus, postgres, .. } = &t.observe;
                let has = [t.process.is_some(), cgroup.is_some(), prometheus.is_some(), postgres.is_some()];
                (name.as_str(), has)
            })
            .collect();
        let only = |place: usize| [0, 1, 2, 3].map(|at| at == place);
        let expect = [
            ("/a/b", only(1)),
            ("12", only(0)),
            (":80", only(0)),
            ("cgroup:x", only(1)),
            ("container:db", only(1)),
            ("h:1", only(2)),
            ("p:5", only(3)),
        ];
        assert_eq!(kinds, expect);
    }

    #[test]
    fn one_name_is_one_target() {
        let targets = read_all(&["web=:80", "web=http://h/metrics", "redis://c:6379?x=1"]).unwrap();
        assert_eq!(targets.keys().collect::<Vec<_>>(), ["c:6379", "web"]);
        assert!(targets["web"].process.is_some() && targets["web"].observe.prometheus.is_some());
        assert!(read_all(&["web=:80", "web=:81"]).unwrap_err().contains("two of one kind"));
        assert!(read_all(&["ftp://u:geheim@x"]).unwrap_err().contains("cannot be watched"));
        assert!(!read_all(&["ftp://u:geheim@x"]).unwrap_err().contains("geheim"));
    }

    #[test]
    fn no_password_names_a_target() {
        let targets = read_all(&["postgres://me:a/b@c@db:5/shop", "redis://:d/e@f:1"]).unwrap();
        assert_eq!(targets.keys().collect::<Vec<_>>(), ["db:5", "f:1"]);
    }
}
