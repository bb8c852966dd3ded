//! Flags of the command, as options.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Options;
use super::duration::OptionDuration;
use super::error::{OptionsError, Source};
use super::fields::FromText;
use super::layer::Layer;
use super::scenario::StageOptions;
use super::segment::{ExecutionSegment, SegmentSequence};

/// The flags of a run as they were given; those that take a text of k6's own form are not read yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flags {
    /// `-u`, `--vus`.
    pub vus: Option<i64>,
    /// `-d`, `--duration`.
    pub duration: Option<String>,
    /// `-i`, `--iterations`.
    pub iterations: Option<i64>,
    /// `-s`, `--stage`, each `DURATION:TARGET`; or several, separated by commas.
    pub stages: Vec<String>,
    /// `--execution-segment`.
    pub execution_segment: Option<String>,
    /// `--execution-segment-sequence`.
    pub execution_segment_sequence: Option<String>,
    /// `-p`, `--paused`.
    pub paused: Option<bool>,
    /// `--no-setup`.
    pub no_setup: Option<bool>,
    /// `--no-teardown`.
    pub no_teardown: Option<bool>,
    /// `--max-redirects`.
    pub max_redirects: Option<i64>,
    /// `--batch`.
    pub batch: Option<i64>,
    /// `--batch-per-host`.
    pub batch_per_host: Option<i64>,
    /// `--rps`.
    pub rps: Option<i64>,
    /// `--user-agent`.
    pub user_agent: Option<String>,
    /// `--http-debug`.
    pub http_debug: Option<String>,
    /// `--insecure-skip-tls-verify`.
    pub insecure_skip_tls_verify: Option<bool>,
    /// `--no-connection-reuse`.
    pub no_connection_reuse: Option<bool>,
    /// `--no-vu-connection-reuse`.
    pub no_vu_connection_reuse: Option<bool>,
    /// `--min-iteration-duration`.
    pub min_iteration_duration: Option<String>,
    /// `-w`, `--throw`.
    pub throw: Option<bool>,
    /// `--blacklist-ip`, each a network or several, separated by commas.
    pub blacklist_ips: Vec<String>,
    /// `--block-hostnames`, each a pattern or several, separated by commas.
    pub block_hostnames: Vec<String>,
    /// `--summary-trend-stats`, each a statistic or several, separated by commas.
    pub summary_trend_stats: Vec<String>,
    /// `--summary-time-unit`.
    pub summary_time_unit: Option<String>,
    /// `--system-tags`, each a name or several, separated by commas.
    pub system_tags: Vec<String>,
    /// `--tag`, each `NAME=VALUE`.
    pub tags: Vec<String>,
    /// `--discard-response-bodies`.
    pub discard_response_bodies: Option<bool>,
    /// `--local-ips`.
    pub local_ips: Option<String>,
    /// `--dns`.
    pub dns: Option<String>,
    /// `--no-thresholds`.
    pub no_thresholds: Option<bool>,
    /// `--no-usage-report`.
    pub no_usage_report: Option<bool>,
    /// `-l`, `--linger`.
    pub stay_after_run: Option<bool>,
    /// `-e`, `--env`, each `NAME=VALUE`.
    pub env: Vec<String>,
    /// `--scenario`, each a name or several, separated by commas.
    pub scenarios: Vec<String>,
    /// `--once`: see [`ConsolidatedOptions::once`](super::ConsolidatedOptions::once).
    pub once: bool,
}

impl Flags {
    /// The options that these flags set.
    ///
    /// # Errors
    /// [`OptionsError::Value`] when a text cannot be read.
    pub fn layer(&self) -> Result<Layer, OptionsError> {
        let options = Options {
            vus: self.vus,
            duration: read("--duration", self.duration.as_deref(), OptionDuration::parse)?,
            iterations: self.iterations,
            stages: self.stages()?,
            execution_segment: read(
                "--execution-segment",
                self.execution_segment.as_deref(),
                ExecutionSegment::parse,
            )?,
            execution_segment_sequence: read(
                "--execution-segment-sequence",
                self.execution_segment_sequence.as_deref(),
                SegmentSequence::parse,
            )?,
            local_ips: read("--local-ips", self.local_ips.as_deref(), FromText::from_text)?,
            blacklist_ips: list("--blacklist-ip", &self.blacklist_ips)?,
            block_hostnames: list("--block-hostnames", &self.block_hostnames)?,
            dns: read("--dns", self.dns.as_deref(), FromText::from_text)?,
            min_iteration_duration: read(
                "--min-iteration-duration",
                self.min_iteration_duration.as_deref(),
                OptionDuration::parse,
            )?,
            summary_trend_stats: list("--summary-trend-stats", &self.summary_trend_stats)?,
            summary_time_unit: read(
                "--summary-time-unit",
                self.summary_time_unit.as_deref(),
                FromText::from_text,
            )?,
            system_tags: list("--system-tags", &self.system_tags)?,
            tags: self.tags()?,
            ..self.as_they_are()
        };
        Ok(Layer { source: Source::Flags, options, notes: Vec::new() })
    }

    /// The options whose flags need no reading.
    fn as_they_are(&self) -> Options {
        Options {
            paused: self.paused,
            no_setup: self.no_setup,
            no_teardown: self.no_teardown,
            max_redirects: self.max_redirects,
            batch: self.batch,
            batch_per_host: self.batch_per_host,
            rps: self.rps,
            user_agent: self.user_agent.clone(),
            http_debug: self.http_debug.clone(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            no_connection_reuse: self.no_connection_reuse,
            no_vu_connection_reuse: self.no_vu_connection_reuse,
            throw: self.throw,
            discard_response_bodies: self.discard_response_bodies,
            no_thresholds: self.no_thresholds,
            no_usage_report: self.no_usage_report,
            stay_after_run: self.stay_after_run,
            ..Options::default()
        }
    }

    /// The variables that `-e` adds to `__ENV`; one without `=` is empty.
    ///
    /// # Errors
    /// [`OptionsError::Value`] when a name is none of a variable.
    pub fn variables(&self) -> Result<BTreeMap<String, String>, OptionsError> {
        let pair = |text: &String| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_name = name.chars().all(is_inner) && !name.starts_with(|c: char| c.is_ascii_digit());
            match is_name && !name.is_empty() {
                true => Ok((name.to_owned(), value.to_owned())),
                false => Err(refused("--env", format!("{name:?} is not a name of a variable"))),
            }
        };
        self.env.iter().map(pair).collect()
    }

    fn stages(&self) -> Result<Option<Vec<StageOptions>>, OptionsError> {
        let given: Vec<String> = self.stages.iter().filter(|text| !text.is_empty()).cloned().collect();
        let stages: Option<Vec<StageOptions>> = list("--stage", &given)?;
        if stages.iter().flatten().any(|stage| stage.duration.is_none()) {
            return Err(refused("--stage", "a stage has no duration; write DURATION:TARGET".to_owned()));
        }
        // A stage that is empty describes the load too: as one iteration.
        Ok(stages.or_else(|| (!self.stages.is_empty()).then(Vec::new)))
    }

    fn tags(&self) -> Result<Option<BTreeMap<String, String>>, OptionsError> {
        let pair = |text: &String| {
            let wrong = || refused("--tag", format!("{text:?} is not a tag; write NAME=VALUE"));
            let (name, value) = text.split_once('=').ok_or_else(wrong)?;
            if name.is_empty() || value.is_empty() {
                return Err(wrong());
            }
            Ok((name.to_owned(), value.to_owned()))
        };
        let tags: BTreeMap<_, _> = self.tags.iter().map(pair).collect::<Result<_, _>>()?;
        Ok((!tags.is_empty()).then_some(tags))
    }
}

fn refused(flag: &str, reason: String) -> OptionsError {
    OptionsError::Value { origin: Source::Flags, option: flag.to_owned(), reason }
}

fn read<T>(
    flag: &str,
    text: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, OptionsError> {
    text.map(parse).transpose().map_err(|reason| refused(flag, reason))
}

/// A list, of which each flag gives one item or several.
fn list<T: FromText>(flag: &str, texts: &[String]) -> Result<Option<T>, OptionsError> {
    let joined = (!texts.is_empty()).then(|| texts.join(","));
    read(flag, joined.as_deref(), T::from_text)
}
