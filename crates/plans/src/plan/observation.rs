//! Reads `[targets.NAME.observe]` and `[[profiles]]`: what is observed of a target, and when it is profiled.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::ProfileKind;

use super::section::{Item, Section};
use super::value_use::ValueUse;
use workload::address::wrong_address;
use workload::model::{Phase, Target};
use workload::nearest::nearest;
use workload::observation::{
    CgroupRef, Mark, Observation, Pool, PoolSize, Postgres, ProfileMark, Prometheus, Redis,
};
use workload::secret_address::has_password;
use workload::template::Value;
use workload::units;

/// The default interval of observers, and the shortest.
const DEFAULT_EVERY: Duration = Duration::from_secs(1);
/// The default length of a profile's window.
const DEFAULT_LENGTH: Duration = Duration::from_secs(30);
/// The longest window of a profile.
const MAX_LENGTH: Duration = Duration::from_secs(600);
/// The shortest period of profiles.
const MIN_EVERY: Duration = Duration::from_secs(5);

/// Read what is observed of a target; returns also the environment variables in its URLs.
pub(super) fn read(section: &Section<'_>) -> (Observation, Vec<ValueUse>) {
    let Some(section) = section.get("observe").and_then(|item| item.section("`observe`")) else {
        return (Observation::default(), Vec::new());
    };
    let mut uses = Vec::new();
    let observation = Observation {
        cgroup: read_cgroup(&section),
        prometheus: section.get("prometheus").and_then(|item| {
            let (url, inner) = read_url_or_table(&item, &["http", "https"], &mut uses)?;
            let keep = inner.as_ref().and_then(|inner| inner.get("keep")).map(|item| texts(&item));
            let every = read_every(inner);
            Some(Prometheus { url, keep: keep.unwrap_or_default(), every })
        }),
        postgres: section.get("postgres").and_then(|item| {
            let (url, inner) = read_url_or_table(&item, &["postgresql", "postgres"], &mut uses)?;
            let tables = inner.as_ref().and_then(|inner| inner.get("tables")).map(|item| texts(&item));
            let every = read_every(inner);
            Some(Postgres { url, tables: tables.unwrap_or_default(), every })
        }),
        redis: section.get("redis").and_then(|item| {
            let (url, inner) = read_url_or_table(&item, &["redis", "rediss"], &mut uses)?;
            let every = read_every(inner);
            Some(Redis { url, every })
        }),
        pprof: section.get("pprof").and_then(|item| {
            let url = read_url(&item, &["http", "https"], &mut uses)?;
            Some(url.trim_end_matches('/').to_owned())
        }),
        pools: section.tables("pools", "pool").iter().filter_map(read_pool).collect(),
    };
    if observation.prometheus.is_none() && !observation.pools.is_empty() {
        section.issues.add(
            &section.span,
            "`pools` are read from metrics: `observe` needs `prometheus = \"http://HOST:PORT/metrics\"`",
        );
    }
    section.finish();
    (observation, uses)
}

/// Read one of `[[targets.NAME.observe.pools]]`.
fn read_pool(section: &Section<'_>) -> Option<Pool> {
    let metric = |key: &'static str| section.get(key).and_then(|item| Some(item.text()?.to_owned()));
    let name = section.need("name", "`name = \"workers\"`").and_then(|item| Some(item.text()?.to_owned()));
    let size = section.need("size", "`size = \"METRIC\"` or a number").and_then(|item| read_size(&item));
    let [in_use, held, waited, waiting] = ["in_use", "held", "waited", "waiting"].map(metric);
    section.finish();
    if in_use.is_none() && held.is_none() {
        let text = "a pool needs `in_use = \"METRIC\"`, or `held = \"METRIC\"` where a counter has the seconds for which it was held";
        section.issues.add(&section.span, text);
    }
    Some(Pool { name: name?, in_use, held, size: size?, waited, waiting })
}

fn read_size(item: &Item<'_>) -> Option<PoolSize> {
    if item.is_text() {
        return Some(PoolSize::Metric(item.text()?.to_owned()));
    }
    Some(PoolSize::Of(u32::try_from(item.whole(1..=1_000_000)?).ok()?))
}

fn read_cgroup(section: &Section<'_>) -> Option<CgroupRef> {
    let path = section.get("cgroup").and_then(|item| Some(CgroupRef::Path(item.text()?.to_owned())));
    let container =
        section.get("container").and_then(|item| Some(CgroupRef::Container(item.text()?.to_owned())));
    if path.is_some() && container.is_some() {
        section.issues.add(&section.span, "`observe` takes one of `cgroup` and `container`");
    }
    path.or(container)
}

/// A URL, alone or in a table with other keys.
fn read_url_or_table<'a>(
    item: &Item<'a>,
    schemes: &[&str],
    uses: &mut Vec<ValueUse>,
) -> Option<(String, Option<Section<'a>>)> {
    if item.is_text() {
        return Some((read_url(item, schemes, uses)?, None));
    }
    let section = item.section(&format!("`{}`", item.key))?;
    let url = section.need("url", &format!("`url = \"{}://HOST:PORT\"`", schemes[0]));
    let url = url.and_then(|url| read_url(&url, schemes, uses));
    if url.is_none() {
        section.finish();
    }
    Some((url?, Some(section)))
}

/// The key `every` of a table, whose other keys must have been read.
fn read_every(section: Option<Section<'_>>) -> Duration {
    let Some(section) = section else { return DEFAULT_EVERY };
    let every = section.get("every").and_then(|item| {
        let every = item.duration()?;
        if every < DEFAULT_EVERY {
            item.wrong("observers run once a second at most");
        }
        Some(every)
    });
    section.finish();
    every.unwrap_or(DEFAULT_EVERY)
}

fn read_url(item: &Item<'_>, schemes: &[&str], uses: &mut Vec<ValueUse>) -> Option<String> {
    let template = item.template()?;
    for value in template.values() {
        if !matches!(value, Value::Env(_)) {
            item.wrong("only environment variables are allowed here: `${env.NAME}`");
            return None;
        }
        uses.push(ValueUse { value: value.clone(), span: item.span(), is_of_default: false });
    }
    let text = template.source();
    let is_value = text.starts_with("${");
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)?.strip_prefix("://"));
    if rest.is_none() && !is_value {
        item.wrong(wrong_address(text, &format!("is not a URL; write `{}://HOST:PORT`", schemes[0])));
    } else if has_password(text) {
        item.wrong(
            "a plan holds no passwords; write `${env.NAME}` in its place, and `%40` for an `@` elsewhere",
        );
        return None;
    }
    Some(text.to_owned())
}

fn texts(item: &Item<'_>) -> Vec<String> {
    item.texts().into_iter().map(|(text, _)| text.to_owned()).collect()
}

/// Read `[[profiles]]`.
pub(super) fn read_marks(
    root: &Section<'_>,
    phases: &[Phase],
    targets: &BTreeMap<String, Target>,
) -> Vec<ProfileMark> {
    let sections = root.tables("profiles", "profile");
    sections.iter().filter_map(|section| read_mark(section, phases, targets)).collect()
}

fn read_mark(
    section: &Section<'_>,
    phases: &[Phase],
    targets: &BTreeMap<String, Target>,
) -> Option<ProfileMark> {
    let at = section.need("at", "`at = \"15m\"`, `\"in phase NAME\"` or `\"every 10m\"`");
    let at = at.and_then(|item| read_when(&item, phases));
    let kinds = match section.get("kinds") {
        Some(item) => item.items().iter().filter_map(read_kind).collect(),
        None => vec![ProfileKind::Cpu, ProfileKind::Heap],
    };
    let target = match section.get("target") {
        Some(item) => named_target(&item, targets),
        None => only_target(section, targets),
    };
    let length = section.get("length").map_or(Some(DEFAULT_LENGTH), |item| {
        let length = item.duration()?;
        if length < Duration::from_secs(1) || length > MAX_LENGTH {
            item.wrong(format!("a profile takes 1 s to {} s", MAX_LENGTH.as_secs()));
        }
        Some(length)
    });
    section.finish();
    Some(ProfileMark { at: at?, kinds, target: target?, length: length? })
}

fn read_when(item: &Item<'_>, phases: &[Phase]) -> Option<Mark> {
    let text = item.text()?;
    if let Some(name) = text.strip_prefix("in phase ") {
        let names = phases.iter().map(|phase| phase.name.as_str());
        if !names.clone().any(|known| known == name) {
            let hint =
                nearest(name, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            item.wrong(format!("there is no phase `{name}`{hint}"));
            return None;
        }
        return Some(Mark::InPhase(name.to_owned()));
    }
    if let Some(every) = text.strip_prefix("every ") {
        let every = item.issues.check(&item.span(), units::duration(every))?;
        if every < MIN_EVERY {
            item.wrong(format!("profiles are at least {} s apart", MIN_EVERY.as_secs()));
        }
        return Some(Mark::Every(every));
    }
    Some(Mark::At(item.issues.check(&item.span(), units::duration(text))?))
}

fn read_kind(item: &Item<'_>) -> Option<ProfileKind> {
    let text = item.text()?;
    let known = ProfileKind::ALL.map(|(_, name)| name);
    let unknown = |_| format!("`{text}` is not a kind of profile; there are {}", known.join(", "));
    item.issues.check(&item.span(), text.parse().map_err(unknown))
}

pub(super) fn named_target(item: &Item<'_>, targets: &BTreeMap<String, Target>) -> Option<String> {
    let name = item.text()?;
    match targets.get(name) {
        Some(target) if can_be_profiled(target) => return Some(name.to_owned()),
        Some(_) => item.wrong(format!(
            "target `{name}` cannot be profiled: give it `observe.pprof = \"http://HOST:PORT/debug/pprof\"` or `process`"
        )),
        None => item.wrong(format!("there is no target `{name}`")),
    }
    None
}

pub(super) fn only_target(section: &Section<'_>, targets: &BTreeMap<String, Target>) -> Option<String> {
    let with_pprof = |target: &&Target| target.observe.pprof.is_some();
    let mut found: Vec<&String> =
        targets.iter().filter(|(_, target)| with_pprof(target)).map(|(name, _)| name).collect();
    if found.is_empty() {
        found = targets.iter().filter(|(_, target)| can_be_profiled(target)).map(|(name, _)| name).collect();
    }
    match found.as_slice() {
        [one] => Some((*one).clone()),
        [] => {
            let text =
                "no target can be profiled: give one `observe.pprof = \"http://HOST:PORT/debug/pprof\"`";
            section.issues.add(&section.span, text);
            None
        }
        _ => {
            section
                .issues
                .add(&section.span, "several targets can be profiled: say which with `target = \"NAME\"`");
            None
        }
    }
}

/// Whether the target has profiling endpoints, or a process to sample.
pub(super) fn can_be_profiled(target: &Target) -> bool {
    target.observe.pprof.is_some() || target.process.is_some()
}
