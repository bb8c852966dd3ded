use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Page, String> {
    Page::read(text, &Keep::new(&["*".to_owned()]), &mut KeptSeries::default())
}

fn shown(values: &BTreeMap<Id, f64>) -> Vec<String> {
    values.iter().map(|(id, value)| format!("{}{{{}}} {value}", id.name, id.part)).collect()
}

#[test]
fn counters_and_gauges_are_distinguished_by_type_and_name() {
    let page = read(concat!(
        "# TYPE up gauge\nup 1\n",
        "# TYPE a_total counter\na_total{code=\"200\",api=\"x\"} 5\n",
        "# TYPE open counter\nopen_total 7\nopen_created 1e9\n",
        "untyped_total 3\nuntyped 4\n",
        "# TYPE pause summary\npause{quantile=\"0.5\"} 0.1\npause_sum 9\npause_count 90\n",
        "# TYPE weight gauge\nweight_total 12\n",
        "process_start_time_seconds 1700000000\n",
    ));
    let page = page.unwrap();
    assert_eq!(
        shown(&page.counters),
        [
            "a_total{api=\"x\",code=\"200\"} 5",
            "open_total{} 7",
            "pause_count{} 90",
            "untyped_total{} 3",
            "weight_total{} 12"
        ]
    );
    assert_eq!(shown(&page.sums), ["pause_sum{} 9"]);
    assert_eq!(shown(&page.levels), ["pause{quantile=\"0.5\"} 0.1", "untyped{} 4", "up{} 1"]);
    assert_eq!((page.started, page.wrong), (Some(1.7e9), None));
}

#[test]
fn buckets_make_one_histogram_for_each_set_of_labels() {
    let page = read(concat!(
        "# TYPE t histogram\n",
        "t_bucket{le=\"+Inf\",a=\"1\"} 9\nt_bucket{le=\"0.5\",a=\"1\"} 4\nt_sum{a=\"1\"} 3\nt_count{a=\"1\"} 9\n",
        "t_bucket{le=\"+Inf\",a=\"2\"} 1\n",
        "# TYPE broken histogram\nbroken_bucket{le=\"1\"} 4\nbroken_bucket{le=\"2\"} 3\nbroken_bucket{le=\"+Inf\"} 9\n",
        "# TYPE open histogram\nopen_bucket{le=\"1\"} 4\n",
    ));
    let page = page.unwrap();
    let histograms: Vec<_> =
        page.histograms.iter().map(|(id, buckets)| (id.part.as_str(), buckets.clone())).collect();
    assert_eq!(
        histograms,
        [("a=\"1\"", vec![(0.5, 4.0), (f64::INFINITY, 9.0)]), ("a=\"2\"", vec![(f64::INFINITY, 1.0)])]
    );
    assert_eq!((page.counters.len(), page.sums.len()), (1, 1));
}

#[test]
fn what_is_no_number_is_a_gap_and_what_is_wrong_is_named() {
    let page = read("a NaN\nb +Inf\nc 1\nc 2\nd{x=\"1\",x=\"2\"} 3\ne one\nf 4\n").unwrap();
    assert_eq!(shown(&page.levels), ["c{} 1", "f{} 4"]);
    assert_eq!((page.wrong, page.wrong_count), (Some((4, "its series comes twice".to_owned())), 3));
}

#[test]
fn a_page_without_a_value_is_no_page() {
    insta::assert_snapshot!(read("<html>\n<p>\n").unwrap_err(), @"it answers with no metrics: line 1: it does not begin with a metric's name");
    insta::assert_snapshot!(read("# EOF\n").unwrap_err(), @"it answers with no metrics");
}

#[test]
fn a_million_series_are_read_and_a_thousand_kept() {
    let mut text = String::new();
    for number in 0..1_000_000 {
        writeln!(text, "m{{id=\"{number}\"}} 1").unwrap();
    }
    let mut known = KeptSeries::default();
    let keep = Keep::new(&["m".to_owned()]);
    let page = Page::read(&text, &keep, &mut known).unwrap();
    assert_eq!((page.levels.len(), page.left_out), (MOST_SERIES, 999_000));
    // The same ones are kept for the whole run.
    let page = Page::read("m{id=\"x\"} 1\nm{id=\"7\"} 2\n", &keep, &mut known).unwrap();
    assert_eq!((shown(&page.levels), page.left_out), (vec!["m{id=\"7\"} 2".to_owned()], 1));
}

#[test]
fn only_what_is_asked_for_is_kept() {
    let keep = Keep::new(&["t".to_owned(), "*_total".to_owned()]);
    let text = "# TYPE t histogram\nt_bucket{le=\"+Inf\"} 1\nt_count 1\nother{ 1\nx_total 1\ntt 5\n";
    let page = Page::read(text, &keep, &mut KeptSeries::default()).unwrap();
    assert_eq!((page.histograms.len(), page.counters.len(), page.levels.len()), (1, 2, 0));
    assert_eq!(page.wrong, None, "what is not kept may be what it likes");
}

proptest! {
    #[test]
    fn never_panics(text in "(?s)((a|b)(_bucket|_total)?(\\{le=\"[0-9.+]{0,3}\"\\})? [0-9NaInf.-]{1,4}\n|# TYPE [ab] histogram\n|.{0,5}){0,30}") {
        if let Ok(page) = read(&text) {
            let finite = |values: &BTreeMap<Id, f64>| values.values().all(|value| value.is_finite());
            prop_assert!(finite(&page.levels) && finite(&page.counters) && finite(&page.sums));
        }
    }
}
