//! The summary of k6 since version 1: compact and full.

use std::collections::BTreeMap;
use std::fmt::Write;

use evidence::metric::MetricKind;

use super::data::{Check, Contains, RunState, Section, SummaryData, SummaryMetric};
use super::legacy::counts;
use super::order;
use super::table::{self, Colours, Row, TableStyle, VALUE, good_or_bad, tick};

const BOLD: &str = "1";
const PLAIN: &str = "37";

/// How much a summary shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// What most readers look at.
    Compact,
    /// Every metric, and each scenario and group by itself.
    Full,
}

/// The text of `--summary-mode=compact` or `full`, as k6 writes it to standard output.
pub(super) fn text(data: &SummaryData, detail: Detail, colours: Colours) -> String {
    let mut page = Page { text: "\n\n".to_owned(), data, detail, colours };
    page.add_thresholds();
    page.add_section("TOTAL RESULTS", &data.total);
    if detail == Detail::Full {
        for (kind, sections) in [("GROUP", &data.groups), ("SCENARIO", &data.scenarios)] {
            for section in sections {
                page.add_section(&format!("{kind}: {}", section.name), section);
            }
        }
    }
    page.text.push('\n');
    page.text
}

struct Page<'a> {
    text: String,
    data: &'a SummaryData,
    detail: Detail,
    colours: Colours,
}

impl Page<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn heading(&mut self, indent: usize, [mark, title]: [&str; 2]) {
        let title = self.colours.paint(BOLD, title);
        self.line(indent, &format!("{mark} {title} "));
        self.blank();
    }

    fn add_thresholds(&mut self) {
        let metrics = &self.data.total.metrics;
        let limited = |name: &str| metrics.get(name).is_some_and(|metric| !metric.thresholds.is_empty());
        let names = order::ordered(metrics.keys().map(String::as_str).filter(|name| limited(name)));
        if names.is_empty() {
            return;
        }
        self.heading(2, ["█", "THRESHOLDS"]);
        for name in names {
            let (metric, part) = order::divided(name);
            let is_below = !part.is_empty() && limited(metric);
            let (indent, title) = if is_below { (6, part) } else { (4, name) };
            self.line(indent, title);
            self.add_thresholds_of(indent, &metrics[name]);
            self.blank();
        }
        self.blank();
    }

    fn add_thresholds_of(&mut self, indent: usize, metric: &SummaryMetric) {
        let colours = self.colours;
        for threshold in &metric.thresholds {
            let stat = threshold.stat();
            // A value that the summary does not show is not shown here either.
            let known = metric.values.contains_key(stat);
            let value =
                if known { table::shown(metric, stat, self.data.options.time_unit) } else { String::new() };
            let source = colours.paint(PLAIN, &format!("'{}'", threshold.source.trim()));
            let text = format!(
                "{} {source} {}={}",
                colours.mark(threshold.ok),
                colours.paint(PLAIN, threshold.left_side()),
                colours.paint(VALUE, &value)
            );
            self.line(indent, &text);
        }
    }

    fn add_section(&mut self, title: &str, section: &Section) {
        self.heading(2, ["█", title]);
        self.add_parts(4, section);
        self.blank();
    }

    fn add_parts(&mut self, indent: usize, section: &Section) {
        self.add_checks(indent, section);
        self.add_metrics(indent, &section.metrics);
        for group in &section.groups {
            self.heading(indent, ["↳", &format!("GROUP: {}", group.name)]);
            self.add_parts(indent + 2, group);
        }
    }

    fn add_checks(&mut self, indent: usize, section: &Section) {
        let Some(checks) = section.metrics.get("checks") else { return };
        let metrics = check_metrics(checks, self.data.state);
        let rows = metrics.iter().map(|(name, metric)| Row { label: (*name).to_owned(), metric });
        for line in table::lines(&rows.collect::<Vec<_>>(), self.style()) {
            self.line(indent, &line);
        }
        self.blank();
        for check in &section.checks {
            self.add_check(indent, check);
        }
        self.blank();
    }

    fn add_check(&mut self, indent: usize, check: &Check) {
        let ok = check.fails == 0;
        let style = good_or_bad(ok);
        let name = self.colours.paint(style, &format!("{} {}", tick(ok), check.name));
        self.line(indent, &name);
        if !ok {
            let counts = self.colours.paint(style, &counts(check));
            // As k6 indents it, which is further in groups.
            self.line(2 * indent - 2, &counts);
        }
    }

    fn add_metrics(&mut self, indent: usize, metrics: &BTreeMap<String, SummaryMetric>) {
        let names = order::ordered(metrics.keys().map(String::as_str).filter(|name| self.is_listed(name)));
        let rows: Vec<Row<'_>> =
            names.iter().map(|name| Row { label: table::label(name), metric: &metrics[*name] }).collect();
        let lines = table::lines(&rows, self.style());
        for title in order::TITLES {
            let of_title = names.iter().zip(&lines).filter(|(name, _)| order::title(name) == Some(title));
            let mut of_title = of_title.peekable();
            if of_title.peek().is_none() {
                continue;
            }
            let heading = self.colours.paint(BOLD, title);
            self.line(indent, &heading);
            for (name, line) in of_title {
                let deeper = if order::is_part(name) { 2 } else { 0 };
                self.line(indent + deeper, line);
            }
            self.blank();
        }
    }

    fn is_listed(&self, name: &str) -> bool {
        let (metric, _) = order::divided(name);
        let is_left_out = self.detail == Detail::Compact && order::ONLY_IN_FULL.contains(&metric);
        order::title(name).is_some() && !is_left_out
    }

    fn style(&self) -> TableStyle<'_> {
        TableStyle {
            colours: self.colours,
            dots: "2;37",
            aside: "2;36",
            unit: self.data.options.time_unit,
            trend_stats: &self.data.options.trend_stats,
        }
    }
}

/// The checks as three metrics.
fn check_metrics(checks: &SummaryMetric, state: RunState) -> [(&'static str, SummaryMetric); 3] {
    let [passes, fails] = ["passes", "fails"].map(|name| checks.value(name));
    let count = passes + fails;
    let rate = |some: f64, others: f64| {
        metric_of(MetricKind::Rate, [("rate", some / count.max(1.0)), ("passes", some), ("fails", others)])
    };
    let total = metric_of(MetricKind::Counter, [("count", count), ("rate", state.per_second(count))]);
    [
        ("checks_total", total),
        ("checks_succeeded", rate(passes, fails)),
        ("checks_failed", rate(fails, passes)),
    ]
}

fn metric_of<const N: usize>(kind: MetricKind, values: [(&str, f64); N]) -> SummaryMetric {
    let values = values.map(|(name, value)| (name.to_owned(), value)).into();
    SummaryMetric { kind, contains: Contains::Default, values, thresholds: Vec::new() }
}
