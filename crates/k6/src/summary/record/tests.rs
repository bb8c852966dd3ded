use evidence::metric::Buckets;
use evidence::time::Instant;

use super::*;

fn tags<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<Name, Name> {
    pairs.map(|(name, value)| (name.into(), value.into())).into()
}

fn definition(name: &str, kind: MetricKind) -> MetricDefinition {
    MetricDefinition { name: name.to_owned(), kind, contains: Contains::Default }
}

fn sums(kind: MetricKind, values: &[f64]) -> MetricSums {
    let mut sums = MetricSums::default();
    for (nanosecond, value) in values.iter().enumerate() {
        sums.add(kind, *value, Instant::from_nanos(nanosecond as u64));
    }
    sums
}

/// The metrics of a run of two seconds with these series and no thresholds but those given.
fn metrics_of(
    definitions: &[MetricDefinition],
    series: &[Series<'_, MetricSums>],
    thresholds: &[MetricThresholds],
) -> BTreeMap<String, SummaryMetric> {
    let state = RunState { duration_ms: 2000.0, ..RunState::default() };
    let options = SummaryOptions::default();
    RunRecord { definitions, series, thresholds, state, options, setup_data: None }.summary().total.metrics
}

#[test]
fn every_kind_can_be_read_from_what_the_engine_counts() {
    let kinds = [MetricKind::Counter, MetricKind::Gauge, MetricKind::Rate, MetricKind::Trend];
    let definitions = kinds.map(|kind| definition(&kind.to_string(), kind));
    let [early, late] =
        [[4.0, 0.0, -2.0], [1.0, 0.0, 3.0]].map(|values| kinds.map(|kind| sums(kind, &values)));
    let [here, there] = ["here", "there"].map(|place| tags([("place", place)]));
    let mut series = Vec::new();
    for (tags, all) in [(&here, &early), (&there, &late)] {
        let pairs = definitions.iter().zip(all);
        series.extend(pairs.map(|(definition, sums)| Series { metric: &definition.name, tags, sums }));
    }
    let metrics = metrics_of(&definitions, &series, &[]);
    let read = |metric: &str, names: [&str; 3]| names.map(|name| metrics[metric].value(name));
    assert_eq!(read("counter", ["count", "rate", ""]), [6.0, 3.0, 0.0]);
    assert_eq!(read("gauge", ["value", "min", "max"]), [3.0, -2.0, 4.0]);
    assert_eq!(read("rate", ["rate", "passes", "fails"]), [2.0 / 3.0, 4.0, 2.0]);
    assert_eq!(read("trend", ["avg", "min", "max"]), [1.0, -2.0, 4.0]);
    let p95 = metrics["trend"].value("p(95)");
    assert!((p95 - 4.0).abs() <= 4.0 * Buckets::RELATIVE_ERROR, "{p95}");
}

#[test]
fn a_part_is_what_its_tags_select_and_is_called_as_k6_calls_it() {
    let definitions =
        [definition("ticks", MetricKind::Counter), definition("ticks_late", MetricKind::Counter)];
    let [one, two] = [sums(MetricKind::Counter, &[1.0]), sums(MetricKind::Counter, &[2.0])];
    let [both, first] = [tags([("a", "b"), ("url", "x:1")]), tags([("a", "b")])];
    let series = [
        Series { metric: "ticks", tags: &both, sums: &one },
        Series { metric: "ticks", tags: &first, sums: &two },
        Series { metric: "ticks_late", tags: &both, sums: &two },
    ];
    let thresholds =
        ["ticks{ a : \"b\" }", "ticks{a:b, url:'x:1'}", "ticks{a:c}", "ticks_late{a:b}", "ticks{nonsense}"]
            .map(|metric| MetricThresholds {
                metric: metric.to_owned(),
                thresholds: vec![Threshold { source: "count>0".to_owned(), ok: true }],
                is_asked: true,
            });
    let metrics = metrics_of(&definitions, &series, &thresholds);
    let counts: Vec<_> =
        metrics.iter().map(|(name, metric)| (name.as_str(), metric.value("count"))).collect();
    let expected = [
        ("ticks", 3.0),
        ("ticks_late", 2.0),
        ("ticks_late{a:b}", 2.0),
        ("ticks{a : \"b\"}", 3.0),
        ("ticks{a:b, url:'x:1'}", 1.0),
        ("ticks{a:c}", 0.0),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn a_run_without_a_duration_has_rates_of_zero() {
    let definitions = [definition("ticks", MetricKind::Counter)];
    let ticks = sums(MetricKind::Counter, &[1.0]);
    let series = [Series { metric: "ticks", tags: &tags([]), sums: &ticks }];
    let record = RunRecord {
        definitions: &definitions,
        series: &series,
        thresholds: &[],
        state: RunState::default(),
        options: SummaryOptions::default(),
        setup_data: None,
    };
    assert_eq!(record.summary().total.metrics["ticks"].value("rate"), 0.0);
}

#[test]
fn a_threshold_limits_what_is_before_its_sign() {
    let stat = |source: &str| Threshold { source: source.to_owned(), ok: true }.stat().to_owned();
    assert_eq!(
        ["p(95)<500", " count > 1 ", "value!=7", "rate==1"].map(stat),
        ["p(95)", "count", "value", "rate"]
    );
}
