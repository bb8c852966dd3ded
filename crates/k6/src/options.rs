//! What a k6 script, its configuration file, `K6_*` variables and flags ask for, and the workload that it is.
//!
//! Each source is a [`Layer`]; [`consolidate`] puts them above each other as k6 does and gives the [`ConsolidatedOptions`]: the
//! options, and the scenarios that follow from them. Pure: texts and variables are passed in.

mod check;
mod derive;
mod dns;
mod duration;
mod error;
mod fields;
mod flags;
mod fraction;
mod header;
mod hosts;
mod layer;
mod local_addresses;
mod offer;
mod part;
mod requirements;
mod scenario;
mod segment;
mod shape;
mod share;
mod summary;
pub mod thresholds;
mod tls;

use std::collections::BTreeMap;
use std::time::Duration;

pub use derive::{ConsolidatedOptions, consolidate};
pub use dns::{DnsOptions, DnsPolicy, DnsSelect, DnsTtl};
pub use duration::OptionDuration;
pub use error::{OptionsError, Source};
use fields::{Ignored, fields};
pub use flags::Flags;
pub use hosts::{HostAddress, HostPattern, Hosts, IpNetwork};
pub use layer::{Layer, is_option_variable};
pub use local_addresses::LocalAddresses;
pub use part::{InstancePart, Numbering, Stripes};
pub use requirements::Requirements;
pub use scenario::{ExecutorKind, ScenarioOptions, StageOptions};
pub use segment::{ExecutionSegment, SegmentSequence};
pub use shape::ScenarioShape;
pub use summary::{DEFAULT_SYSTEM_TAGS, SystemTags, TimeUnit, TrendStatistic};
pub use thresholds::ThresholdOptions;
pub use tls::{TlsAuth, TlsVersion, TlsVersions};

#[cfg(test)]
mod tests;

fields! {
    /// Every option of a run; one that is not set has the default that its method says.
    pub struct Options {
        /// The number of virtual users, for `duration`, `iterations` and `stages`.
        vus: i64 = "vus" or "K6_VUS";
        /// A load of a constant number of virtual users, for so long.
        duration: OptionDuration = "duration" or "K6_DURATION";
        /// A load of so many iterations, shared by all virtual users.
        iterations: i64 = "iterations" or "K6_ITERATIONS";
        /// A load of a number of virtual users that changes.
        stages: Vec<StageOptions> = "stages" or "K6_STAGES";
        /// Loads in full, by name.
        scenarios: BTreeMap<String, ScenarioOptions> = "scenarios";
        /// The part of the load that this run offers.
        execution_segment: ExecutionSegment = "executionSegment";
        /// All parts of the load.
        execution_segment_sequence: SegmentSequence = "executionSegmentSequence";
        /// What must hold of the metrics, by metric and tags.
        thresholds: BTreeMap<String, Vec<ThresholdOptions>> = "thresholds";
        /// Whether `setup` is left out.
        no_setup: bool = "noSetup" or "K6_NO_SETUP";
        /// How long `setup` may take.
        setup_timeout: OptionDuration = "setupTimeout" or "K6_SETUP_TIMEOUT";
        /// Whether `teardown` is left out.
        no_teardown: bool = "noTeardown" or "K6_NO_TEARDOWN";
        /// How long `teardown` may take.
        teardown_timeout: OptionDuration = "teardownTimeout" or "K6_TEARDOWN_TIMEOUT";
        /// How long an iteration takes at least.
        min_iteration_duration: OptionDuration = "minIterationDuration" or "K6_MIN_ITERATION_DURATION";
        /// Requests a second of all virtual users, at most.
        rps: i64 = "rps" or "K6_RPS";
        /// How many redirects are followed.
        max_redirects: i64 = "maxRedirects" or "K6_MAX_REDIRECTS";
        /// The header `User-Agent`.
        user_agent: String = "userAgent" or "K6_USER_AGENT";
        /// How many requests of a batch are in flight at once.
        batch: i64 = "batch" or "K6_BATCH";
        /// How many requests of a batch are in flight at once to one host.
        batch_per_host: i64 = "batchPerHost" or "K6_BATCH_PER_HOST";
        /// Whether requests are logged; has no effect here.
        http_debug: String = "httpDebug" or "K6_HTTP_DEBUG";
        /// Whether certificates of servers are not verified.
        insecure_skip_tls_verify: bool = "insecureSkipTLSVerify" or "K6_INSECURE_SKIP_TLS_VERIFY";
        /// Whether each request has a connection of its own.
        no_connection_reuse: bool = "noConnectionReuse" or "K6_NO_CONNECTION_REUSE";
        /// Whether each iteration has connections of its own.
        no_vu_connection_reuse: bool = "noVUConnectionReuse" or "K6_NO_VU_CONNECTION_REUSE";
        /// Whether bodies of responses are not kept.
        discard_response_bodies: bool = "discardResponseBodies" or "K6_DISCARD_RESPONSE_BODIES";
        /// Addresses that replace lookups.
        hosts: Hosts = "hosts";
        /// Addresses that may not be called.
        blacklist_ips: Vec<IpNetwork> = "blacklistIPs" or "K6_BLACKLIST_IPS";
        /// Names that may not be called.
        block_hostnames: Vec<HostPattern> = "blockHostnames" or "K6_BLOCK_HOSTNAMES";
        /// How host names are looked up.
        dns: DnsOptions = "dns" or "K6_DNS";
        /// Certificates of the client.
        tls_auth: Vec<TlsAuth> = "tlsAuth";
        tls_version: TlsVersions = "tlsVersion";
        /// The cipher suites of TLS, by name; the names are not checked.
        tls_cipher_suites: Vec<String> = "tlsCipherSuites";
        /// Whether a request that fails throws.
        throw: bool = "throw" or "K6_THROW";
        /// The statistics that the summary shows of trends.
        summary_trend_stats: Vec<TrendStatistic> = "summaryTrendStats" or "K6_SUMMARY_TREND_STATS";
        /// The unit of times in the summary; none: one that fits each.
        summary_time_unit: TimeUnit = "summaryTimeUnit" or "K6_SUMMARY_TIME_UNIT";
        /// The tags that are set of themselves.
        system_tags: SystemTags = "systemTags" or "K6_SYSTEM_TAGS";
        /// Tags of every observation.
        tags: BTreeMap<String, String> = "tags" or "K6_TAGS";
        /// Whether cookies outlive their iteration.
        no_cookies_reset: bool = "noCookiesReset" or "K6_NO_COOKIES_RESET";
        /// Whether thresholds are not evaluated; only a flag or a variable sets it.
        no_thresholds: bool = "noThresholds" or "K6_NO_THRESHOLDS";
        /// Nothing is ever reported, so it has no effect.
        no_usage_report: bool = "noUsageReport" or "K6_NO_USAGE_REPORT";
        /// Whether the command stays after the run; has no effect here.
        stay_after_run: bool = "linger" or "K6_LINGER";
        /// Whether the run begins paused; has no effect here.
        paused: bool = "paused" or "K6_PAUSED";
        /// Addresses of this machine that virtual users connect from in turn; only a flag or a variable sets it.
        local_ips: LocalAddresses = "localIPs" or "K6_LOCAL_IPS";
        /// The size of a buffer of k6; has no effect here.
        metric_samples_buffer_size: i64 = "metricSamplesBufferSize" or "K6_METRIC_SAMPLES_BUFFER_SIZE";
        /// Options of extensions; they have no effect here.
        ext: BTreeMap<String, Ignored> = "ext";
        /// Options of a hosted service; they have no effect here.
        cloud: Ignored = "cloud";
    }
}

impl Options {
    /// How long `setup` may take; 60 s by default.
    pub fn setup_timeout(&self) -> Duration {
        or_seconds(self.setup_timeout, 60)
    }

    /// How long `teardown` may take; 60 s by default.
    pub fn teardown_timeout(&self) -> Duration {
        or_seconds(self.teardown_timeout, 60)
    }

    /// How long an iteration takes at least; 0 by default.
    pub fn min_iteration_duration(&self) -> Duration {
        or_seconds(self.min_iteration_duration, 0)
    }

    /// Requests a second of all virtual users, at most; any number by default.
    pub fn rps(&self) -> Option<u64> {
        self.rps.and_then(|rps| u64::try_from(rps).ok()).filter(|rps| *rps > 0)
    }

    /// How many redirects are followed; 10 by default.
    pub fn max_redirects(&self) -> u32 {
        or_count(self.max_redirects, 10, 0)
    }

    /// How many requests of a batch are in flight at once; 20 by default, at least one.
    pub fn batch(&self) -> u32 {
        or_count(self.batch, 20, 1)
    }

    /// How many requests of a batch are in flight at once to one host, at most; 6 by default, and any number for 0 or
    /// less.
    pub fn batch_per_host(&self) -> Option<u32> {
        Some(or_count(self.batch_per_host, 6, 0)).filter(|count| *count > 0)
    }

    /// The statistics that the summary shows of trends; by default `avg, min, med, max, p(90), p(95)`.
    pub fn trend_statistics(&self) -> Vec<TrendStatistic> {
        self.summary_trend_stats.clone().unwrap_or_else(TrendStatistic::defaults)
    }
}

fn or_seconds(duration: Option<OptionDuration>, default: u64) -> Duration {
    duration.map_or(Duration::from_secs(default), |duration| duration.unsigned().unwrap_or_default())
}

fn or_count(count: Option<i64>, default: u32, least: u32) -> u32 {
    count.map_or(default, |count| u32::try_from(count.max(0)).unwrap_or(u32::MAX)).max(least)
}
