//! What pairs of A against A show of a host and a workload, kept for the experiments that follow.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::manifest::sha256_hex;
use conduct::screen::note;
use conduct::{clock, plan};
use evidence::{Calibration, MetricNoise};
use jiff::Timestamp;
use judge::experiment::{RunBlocks, blocks, noise};
use plans::Overrides;
use workload::experiment::Experiment;

use super::{PairedArms, Pairs};
use crate::record::stored;
use crate::session::Made;
use crate::slot::time_scale;

/// Older ones are not used: machines and their neighbours change.
const DAYS: i64 = 14;
/// A longer file is none that this command wrote.
const MAX_BYTES: u64 = 1 << 20;
/// Of digests in a file's name.
const DIGITS: usize = 12;

/// What the pairs of a calibration show; a metric without noise is left out, with the reason.
pub fn of(subject: &PairedArms, made: &Made<Pairs>) -> CommandResult<(Calibration, Vec<(String, String)>)> {
    let experiment = &subject.experiment;
    let metrics = &experiment.metrics;
    let mut parts: Vec<RunBlocks> = Vec::new();
    for run in made.record.steps().into_iter().flatten() {
        let stored = stored(&made.folder, &run.made)?;
        parts.push(blocks(&stored.side(&run.made.file), metrics).map_err(Failure::own)?);
    }
    let (mut known, mut unknown): (Vec<MetricNoise>, _) = (Vec::new(), Vec::new());
    for (metric, noise) in metrics.iter().zip(noise(metrics, &made.steps, &parts)) {
        match noise {
            Ok(noise) => known.push(noise),
            Err(why) => unknown.push((metric.name.clone(), why)),
        }
    }
    let calibration = Calibration {
        version: Calibration::VERSION,
        name: experiment.name.clone(),
        made_at: clock::rfc3339(clock::now()),
        host: observe::environment(),
        workload: workload_digest(experiment)?,
        pairs: made.steps.len() as u32,
        slot_s: subject.slot.as_secs_f64(),
        pair_s: subject.pair_takes(made.took).as_secs_f64(),
        metrics: known,
    };
    Ok((calibration, unknown))
}

/// Keep it at `asked`, or where experiments look for it.
pub fn keep(calibration: &Calibration, asked: Option<&Path>) -> CommandResult<PathBuf> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => usual_path(&calibration.host, &calibration.workload).ok_or_else(|| {
            Failure::usage(anyhow!(
                "there is no cache folder (HOME is not set); name a file by --calibration"
            ))
        })?,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(serde_json::to_string_pretty(calibration)?.as_bytes())?;
        file.persist(&path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display())).map_err(Failure::own)?;
    Ok(path)
}

/// The calibration to use: the one asked for, or the one of this host and workload; none where it is too old.
pub fn find(experiment: &Experiment, asked: Option<&Path>) -> CommandResult<Option<Calibration>> {
    let (host, workload) = (observe::environment(), workload_digest(experiment)?);
    let path = match asked {
        Some(path) => path.to_owned(),
        None => match usual_path(&host, &workload).filter(|path| path.exists()) {
            Some(path) => path,
            None => return Ok(None),
        },
    };
    let calibration = read(&path)?;
    if calibration.host != host || calibration.workload != workload {
        note(format_args!(
            "{} is not used: it is of another {}; make one by `plimsoll calibrate`",
            path.display(),
            if calibration.host == host { "workload or slot length" } else { "host" }
        ));
        return Ok(None);
    }
    if is_old(&calibration, clock::now()) {
        note(format_args!(
            "{} is not used: it was made {}, more than {DAYS} days ago; make another by `plimsoll calibrate`",
            path.display(),
            calibration.made_at
        ));
        return Ok(None);
    }
    Ok(Some(calibration))
}

fn read(path: &Path) -> CommandResult<Calibration> {
    let read = || -> anyhow::Result<Calibration> {
        anyhow::ensure!(fs::metadata(path)?.len() <= MAX_BYTES, "it is longer than {MAX_BYTES} bytes");
        let calibration: Calibration = serde_json::from_str(&fs::read_to_string(path)?)?;
        let version = calibration.version;
        anyhow::ensure!(version == Calibration::VERSION, "version {version} is not known");
        Ok(calibration)
    };
    read()
        .with_context(|| format!("{} is not a calibration; make one by `plimsoll calibrate`", path.display()))
        .map_err(Failure::usage)
}

fn is_old(calibration: &Calibration, now: Timestamp) -> bool {
    let made: Option<Timestamp> = calibration.made_at.parse().ok();
    made.is_none_or(|made| now.duration_since(made) > jiff::SignedDuration::from_hours(24 * DAYS))
}

/// A digest of the load: the same for each seed.
fn workload_digest(experiment: &Experiment) -> CommandResult<String> {
    let overrides = Overrides {
        time_scale: time_scale(&experiment.plan, experiment.design.slot)?,
        ..Overrides::default()
    };
    let mut workload = plan::resolve(&experiment.plan, &overrides)?.workload;
    (workload.seed, workload.name) = (0, String::new());
    let text = serde_json::to_string(&workload).map_err(Failure::own)?;
    Ok(sha256_hex(text.as_bytes()))
}

/// In the user's cache folder, by host and workload; none without such a folder.
fn usual_path(host: &BTreeMap<String, String>, workload: &str) -> Option<PathBuf> {
    let cache = environment("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(environment("HOME")?).join(".cache")))?;
    let host = sha256_hex(serde_json::to_string(host).ok()?.as_bytes());
    let name = format!("{}-{}.json", host.get(..DIGITS)?, workload.get(..DIGITS)?);
    Some(cache.join("plimsoll").join("calibrations").join(name))
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    #[test]
    fn a_calibration_is_used_for_fourteen_days() {
        let made_at: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let calibration = Calibration {
            version: 1,
            name: String::new(),
            made_at: clock::rfc3339(made_at),
            host: BTreeMap::new(),
            workload: String::new(),
            pairs: 8,
            slot_s: 60.0,
            pair_s: 130.0,
            metrics: Vec::new(),
        };
        let after = |hours: i64| made_at + hours.hours();
        assert!(!is_old(&calibration, after(24 * 13)));
        assert!(is_old(&calibration, after(24 * 15)));
        assert!(is_old(&Calibration { made_at: "yesterday".to_owned(), ..calibration }, made_at));
    }
}
