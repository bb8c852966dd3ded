//! The parts of the page, as text: the template only lays them out.

use std::collections::BTreeMap;

use evidence::{Exemplar, SeriesKey, Severity, Verdict};

use crate::card::{FindingCard, FindingPlace};
use crate::number;
use crate::summary::{
    ClaimSummary, Headline, Outcomes, Row, RunEndState, Summary, quantile_text, spread_of_workers,
};
use crate::text::visible;

/// A longer body or header value is cut, in bytes; the archive has the rest.
const MAX_TEXT: usize = 2_048;
/// A longer resolved workload is cut, in bytes.
const MAX_WORKLOAD: usize = 100_000;

/// A named value.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Fact {
    fn new(name: &str, value: impl Into<String>) -> Fact {
        Fact { name: name.to_owned(), value: value.into() }
    }
}

/// A number at the top of the page.
#[derive(Debug)]
pub(super) struct Tile {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) note: String,
    /// `bad` or empty.
    pub(super) class: &'static str,
}

/// A claim for its row.
#[derive(Debug)]
pub(super) struct ClaimView {
    pub(super) verdict: String,
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) observed: String,
    pub(super) bound: String,
    pub(super) interval: String,
    pub(super) samples: String,
    pub(super) reasons: Vec<String>,
}

impl ClaimView {
    pub(super) fn of(shown: &ClaimSummary) -> ClaimView {
        let claim = &shown.claim;
        ClaimView {
            verdict: claim.verdict.to_string(),
            class: verdict_class(claim.verdict),
            name: visible(&claim.name),
            text: visible(&shown.described()),
            observed: visible(&shown.observed()),
            bound: visible(&shown.bound()),
            interval: visible(&number::or_not_measured(shown.interval(), |interval| interval)),
            samples: number::count(claim.samples),
            reasons: shown.reasons().iter().map(|reason| visible(reason)).collect(),
        }
    }
}

/// The class of a verdict.
pub(crate) fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
        Verdict::Measured => "measured",
    }
}

/// The findings of a rule for their card.
#[derive(Debug)]
pub(crate) struct CardView {
    pub(crate) severity: String,
    pub(crate) class: &'static str,
    pub(crate) rule: String,
    pub(crate) title: String,
    pub(crate) places: Vec<PlaceView>,
    pub(crate) why: String,
    pub(crate) next: String,
}

/// Where a rule found something, for its row.
#[derive(Debug)]
pub(crate) struct PlaceView {
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) figures: Vec<Fact>,
}

impl CardView {
    pub(crate) fn of(card: &FindingCard<'_>) -> CardView {
        CardView {
            severity: card.severity.to_string(),
            class: match card.severity {
                Severity::Invalid => "invalid",
                Severity::Inconclusive => "inconclusive",
                Severity::Fail => "fail",
                Severity::Caution => "caution",
                Severity::Info => "measured",
            },
            rule: card.rule.to_string(),
            title: visible(card.title),
            places: card.places.iter().map(PlaceView::of).collect(),
            why: visible(card.why),
            next: visible(card.next),
        }
    }
}

impl PlaceView {
    fn of(place: &FindingPlace<'_>) -> PlaceView {
        let figure = |f: &evidence::Figure| {
            Fact::new(&visible(&f.name), visible(&number::with_unit(f.value, &f.unit)))
        };
        PlaceView {
            name: visible(&place.name),
            what: visible(&place.finding.what),
            figures: place.finding.figures.iter().map(figure).collect(),
        }
    }
}

/// How the run ended, if it did not complete; otherwise empty.
pub(super) fn notice(summary: &Summary) -> String {
    let header = &summary.header;
    if header.end == RunEndState::Completed {
        return String::new();
    }
    visible(&format!("The run was {}. This report covers the time until then.", header.end_in_words()))
}

/// The run's start, length, end and files.
pub(super) fn facts(summary: &Summary) -> Vec<Fact> {
    let header = &summary.header;
    let mut facts = vec![
        Fact::new("started", visible(&header.started_at)),
        Fact::new("elapsed", number::length(header.elapsed_s)),
        Fact::new("ended", visible(&header.end_in_words())),
        Fact::new("rules", format!("version {}", summary.judgement.rules_version)),
    ];
    facts.extend(summary.files.iter().map(|(what, path)| Fact::new(what, visible(path))));
    facts
}

/// Throughput and response times of the phase in which most requests ended, which is named.
fn headline(headline: &Headline) -> [Tile; 4] {
    let tile = |name: &str, value: String, of: &str| Tile {
        name: name.to_owned(),
        value,
        note: format!("{of} in {}", visible(&headline.phase)),
        class: "",
    };
    let (times, of) = (&headline.response_time, "response time of successes");
    let throughput = number::or_not_measured(headline.throughput_per_s, number::rate);
    [
        tile("Throughput", throughput, "requests"),
        tile("p50", number::time_or_none(times.p50_ms), of),
        tile("p95", quantile_text(times, 0.95, times.p95_ms), of),
        tile("p99", quantile_text(times, 0.99, times.p99_ms), of),
    ]
}

/// The numbers at the top of the page.
pub(super) fn tiles(summary: &Summary) -> Vec<Tile> {
    let mut tiles: Vec<Tile> = summary.headline.iter().flat_map(headline).collect();
    tiles.push(failed(&summary.outcomes));
    if let Some(arrivals) = summary.arrivals {
        tiles.push(Tile {
            name: "Arrivals due".to_owned(),
            value: number::count(arrivals.scheduled),
            note: format!("{} never started", number::count(arrivals.dropped())),
            class: if arrivals.dropped() > 0 { "bad" } else { "" },
        });
    }
    let outcomes = &summary.outcomes;
    tiles.push(Tile {
        name: "Requests ended".to_owned(),
        value: outcomes.completed_text(),
        note: match outcomes.unknown {
            None => format!("{} succeeded", outcomes.share_of_completed(outcomes.ok())),
            Some(_) => "outcomes not known".to_owned(),
        },
        class: "",
    });
    let lag = &summary.generator.start_lag;
    tiles.push(Tile {
        name: "Start lag p99".to_owned(),
        value: quantile_text(lag, 0.99, lag.p99_ms),
        note: "how late the generator was".to_owned(),
        class: "",
    });
    tiles.extend(summary.cpu.iter().take(3).map(|cpu| Tile {
        name: format!("CPU-s per 1,000 requests: {}", visible(&cpu.target)),
        value: number::or_not_measured(cpu.per_1000_requests_s, |s| number::significant(s, 3)),
        note: match (cpu.mean_cores, cpu.note.as_str()) {
            (Some(cores), "") => {
                format!("{}, {} cores on average", cpu.part_of_run(), number::significant(cores, 3))
            }
            (_, note) => note.to_owned(),
        },
        class: "",
    }));
    tiles
}

fn failed(outcomes: &Outcomes) -> Tile {
    Tile {
        name: "Failed".to_owned(),
        value: outcomes.failed_share(),
        note: match outcomes.failed() {
            Some(failed) => format!("{} requests{}", number::count(failed), outcomes.retried_text()),
            None => String::new(),
        },
        class: if outcomes.known_failures() > 0 { "bad" } else { "" },
    }
}

pub(super) fn generator(summary: &Summary) -> Vec<Fact> {
    let generator = &summary.generator;
    let bytes = |n: Option<u64>| number::or_not_measured(n, |n| number::bytes(n as f64));
    let (lag, stall) = (&generator.start_lag, &generator.loop_stall);
    let mut facts = vec![
        Fact::new("start lag p50", number::time_or_none(lag.p50_ms)),
        Fact::new("start lag p99", quantile_text(lag, 0.99, lag.p99_ms)),
        Fact::new("start lag max", number::time_or_none(lag.max_ms)),
        Fact::new("loop stall p99", quantile_text(stall, 0.99, stall.p99_ms)),
        Fact::new("loop stall max", number::time_or_none(stall.max_ms)),
        Fact::new("bytes received", bytes(generator.bytes_in)),
        Fact::new("bytes sent", bytes(generator.bytes_out)),
        Fact::new("cancelled by the generator", summary.outcomes.count_text(summary.outcomes.cancelled())),
        Fact::new("in flight at the end", number::count_or_none(summary.header.requests_in_flight)),
        Fact::new("ticks merged", number::count_or_none(generator.folded_ticks)),
        Fact::new("endpoints counted as one", number::count_or_none(generator.folded_endpoints)),
    ];
    if let Some(perturbed) = generator.perturbed_requests {
        facts.push(Fact::new("requests during stalls", number::count(perturbed)));
    }
    facts.extend(spread_of_workers(&summary.workers).map(|spread| Fact::new("workers", spread)));
    facts.extend(observers(summary));
    facts
}

/// The most observers whose costs are listed; the table of series has all.
const MAX_OBSERVERS: usize = 5;

/// The costs of the observers, the most expensive first.
fn observers(summary: &Summary) -> Option<Fact> {
    let costs =
        summary.series.iter().filter(|s| s.name == "observer_cpu" && s.target == SeriesKey::GENERATOR);
    let mut costs: Vec<(&str, f64)> = costs.map(|s| (s.part.as_str(), s.statistics.mean)).collect();
    costs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let sum: f64 = costs.iter().map(|(_, cores)| cores).sum();
    let cores = |cores: f64| format!("{} cores", number::significant(cores, 2));
    let named = costs.iter().take(MAX_OBSERVERS).map(|(name, cost)| format!("{name} {}", cores(*cost)));
    let named: Vec<String> = named.collect();
    (!costs.is_empty())
        .then(|| Fact::new("watching", visible(&format!("{}: {}", cores(sum), named.join(", ")))))
}

/// A recorded exchange.
#[derive(Debug)]
pub(super) struct ExchangeView {
    pub(super) outcome: String,
    pub(super) class: &'static str,
    pub(super) endpoint: String,
    pub(super) phase: String,
    pub(super) at: String,
    pub(super) response_time: String,
    pub(super) service_time: String,
    pub(super) detail: String,
    pub(super) request: String,
    pub(super) response: String,
}

impl ExchangeView {
    pub(super) fn of(summary: &Summary, exemplar: &Exemplar) -> ExchangeView {
        let is_its = |row: &&Row| row.scenario == *exemplar.scenario && row.endpoint == *exemplar.endpoint;
        let label = summary.rows.iter().find(is_its).map_or(&*exemplar.endpoint, |row| &row.label);
        let ms = |ns: u64| ns as f64 / 1e6;
        let service = exemplar.service_time_ns;
        let trace = exemplar.trace_id.as_ref().map(|id| format!("\ntrace {id}")).unwrap_or_default();
        let status = exemplar.status.map_or_else(|| "no response".to_owned(), |s| format!("status {s}"));
        ExchangeView {
            outcome: exemplar.outcome.to_string(),
            class: if exemplar.outcome.is_failure() { "fail" } else { "measured" },
            endpoint: visible(label),
            phase: visible(&exemplar.phase),
            at: number::run_time(exemplar.due.offset().as_secs_f64()),
            response_time: number::time(ms(exemplar.response_time_ns)),
            service_time: if service == 0 {
                number::NOT_MEASURED.to_owned()
            } else {
                number::time(ms(service))
            },
            detail: exemplar.detail.clone(),
            request: message(&exemplar.request, &exemplar.request_headers, &exemplar.request_body) + &trace,
            response: message(&status, &exemplar.response_headers, &exemplar.response_body),
        }
    }
}

fn message(first: &str, headers: &[(String, String)], body: &str) -> String {
    let mut text = first.to_owned();
    for (name, value) in headers {
        text.push_str(&format!("\n{name}: {}", cut(value, MAX_TEXT)));
    }
    if !body.is_empty() {
        text.push_str(&format!("\n\n{}", cut(body, MAX_TEXT)));
    }
    text
}

fn cut(text: &str, bytes: usize) -> String {
    let end = text.floor_char_boundary(bytes.min(text.len()));
    if end < text.len() {
        format!("{}… ({} bytes more)", &text[..end], text.len() - end)
    } else {
        text.to_owned()
    }
}

/// A fact of a manifest. If its name ends in `_bytes`, the value is shown as an amount of memory.
fn fact(name: &str, value: &str) -> Fact {
    let amount = name.strip_suffix("_bytes").zip(value.parse::<u64>().ok());
    match amount {
        Some((name, bytes)) => Fact::new(&visible(name), number::bytes(bytes as f64)),
        None => Fact::new(&visible(name), visible(value)),
    }
}

pub(super) fn environment(summary: &Summary) -> Vec<(String, Vec<Fact>)> {
    let header = &summary.header;
    let facts = |map: &BTreeMap<String, String>| -> Vec<Fact> {
        map.iter().map(|(name, value)| fact(name, value)).collect()
    };
    let mut groups = vec![
        (
            "Identity".to_owned(),
            vec![
                Fact::new("workload SHA-256", visible(&header.workload_digest)),
                Fact::new("evidence SHA-256", header.digest_in_words()),
                Fact::new("seed", header.seed.to_string()),
                Fact::new("evidence", format!("{} of {} s", header.seconds, header.planned_seconds)),
            ],
        ),
        ("Machine".to_owned(), facts(&header.environment)),
        ("Generator".to_owned(), facts(&header.generator)),
    ];
    groups.extend(header.targets.iter().map(|(name, map)| (format!("Target {}", visible(name)), facts(map))));
    groups.retain(|(_, facts)| !facts.is_empty());
    groups
}

/// The resolved workload, cut where it is very long.
pub(super) fn workload(summary: &Summary) -> String {
    cut(&summary.header.workload, MAX_WORKLOAD)
}
