//! The report as one self-contained HTML file: it loads nothing and can be read without scripts.
//!
//! The template escapes every text; only drawings made here are inserted as markup.

pub(crate) mod charts;
mod plot;
mod profiles;
mod tables;
mod ticks;
pub(crate) mod view;

use askama::Template;

use crate::card;
use crate::profiles::flame;
use crate::source;
use crate::summary::Summary;
use crate::{policy, text};
use charts::Chart;
use profiles::ProfileView;
use tables::{FailureRow, PhaseTable};
use view::{CardView, ClaimView, ExchangeView, Fact, Tile};

/// The most exchanges of a kind that are shown; the archive has all.
const MAX_EXCHANGES: usize = 40;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    summary: &'a Summary,
    verdict: String,
    class: &'static str,
    /// How the run ended, if it did not complete; otherwise empty.
    notice: String,
    facts: Vec<Fact>,
    tiles: Vec<Tile>,
    claims: Vec<ClaimView>,
    findings: Vec<CardView>,
    /// The source of an imported run.
    source_title: Option<String>,
    source: Vec<(String, String)>,
    load: Vec<Chart>,
    latency: Vec<Chart>,
    distributions: Vec<Chart>,
    /// Whether there is one chart of times and one of their distribution, which are side by side.
    is_one_pair: bool,
    resources: Vec<Chart>,
    phases: Vec<PhaseTable>,
    request_phase_heads: Vec<&'static str>,
    request_phases: Vec<Vec<String>>,
    streams: Vec<Vec<String>>,
    scenarios: Vec<Vec<String>>,
    failures: Vec<FailureRow>,
    statuses: Vec<Vec<String>>,
    checks: Vec<Vec<String>>,
    beside_k6: Vec<Vec<String>>,
    beside_k6_sentences: Vec<String>,
    metrics: Vec<Vec<String>>,
    generator: Vec<Fact>,
    cpu: Vec<Vec<String>>,
    series: Vec<Vec<String>>,
    profiles: Vec<ProfileView>,
    series_phases: Vec<String>,
    failed: Vec<ExchangeView>,
    slowest: Vec<ExchangeView>,
    environment: Vec<(String, Vec<Fact>)>,
    workload: String,
}

/// The report as one self-contained HTML file.
pub fn html(summary: &Summary) -> String {
    let verdict = summary.judgement.verdict;
    let profiles = profiles::views(summary);
    let styles = [Some(policy::STYLE), profiles.iter().any(ProfileView::has_flame).then_some(flame::STYLE)];
    let styles: Vec<&str> = styles.into_iter().flatten().collect();
    let exchange = |exemplar| ExchangeView::of(summary, exemplar);
    let page = Page {
        policy: policy::content_security_policy(&styles, &[policy::SCRIPT]),
        style: policy::STYLE,
        script: policy::SCRIPT,
        summary,
        verdict: verdict.to_string(),
        class: view::verdict_class(verdict),
        notice: view::notice(summary),
        facts: view::facts(summary),
        tiles: view::tiles(summary),
        claims: summary.claims.iter().map(ClaimView::of).collect(),
        findings: card::of_run(&summary.judgement.findings).iter().map(CardView::of).collect(),
        source_title: summary.header.source.as_ref().map(source::title),
        source: summary.header.source.as_ref().map(source::lines).unwrap_or_default(),
        load: charts::load(summary),
        is_one_pair: summary.timeline.endpoints.len() == 1 && summary.distributions.len() == 1,
        latency: charts::response_times(summary),
        distributions: charts::distributions(summary),
        resources: charts::resources(summary),
        phases: tables::phase_tables(summary),
        request_phase_heads: tables::shown_request_phases(summary)
            .into_iter()
            .map(|(_, head)| head)
            .collect(),
        request_phases: tables::request_phases(summary),
        streams: tables::streams(summary),
        scenarios: tables::scenarios(summary),
        failures: tables::failures(summary),
        statuses: tables::statuses(summary),
        checks: tables::checks(summary),
        beside_k6: tables::beside_k6(summary),
        beside_k6_sentences: summary.beside_k6.iter().flat_map(|beside| beside.sentences()).collect(),
        metrics: tables::metrics(summary),
        generator: view::generator(summary),
        cpu: tables::cpu(summary),
        series: tables::series(summary),
        profiles,
        series_phases: tables::series_phases(summary),
        failed: summary.failed.iter().take(MAX_EXCHANGES).map(exchange).collect(),
        slowest: summary.slowest.iter().take(MAX_EXCHANGES).map(exchange).collect(),
        environment: view::environment(summary),
        workload: view::workload(summary),
    };
    text::page(&page)
}
