use proptest::prelude::*;

use super::*;
use crate::prometheus::keep::Keep;
use crate::prometheus::page::KeptSeries;

fn page(text: &str) -> Page {
    Page::read(text, &Keep::new(&["*".to_owned()]), &mut KeptSeries::default()).unwrap()
}

fn shown(values: &[(Id, f64)]) -> Vec<String> {
    values.iter().map(|(id, value)| format!("{}{{{}}} {value}", id.name, id.part)).collect()
}

#[test]
fn counters_become_rates() {
    let changed = change(
        &page("a_total 10\nb_total 1\ngone_total 1\n"),
        &page("a_total 30\nb_total 1\nnew_total 8\n"),
        2.0,
    );
    assert_eq!(shown(&changed.rates), ["a_total{} 10", "b_total{} 0"]);
    assert_eq!(changed.fallen, None);
}

#[test]
fn a_counter_that_fell_takes_the_rates_of_all() {
    let changed = change(&page("a_total 10\nb_total 1\n"), &page("a_total 3\nb_total 2\n"), 1.0);
    assert_eq!((changed.rates.len(), changed.fallen), (0, Some(("a_total".to_owned(), 1))));
}

#[test]
fn a_process_that_is_the_same_is_believed_and_one_that_is_another_too() {
    let at = |started: u32, value: u32| {
        page(&format!("process_start_time_seconds {started}\na_total {value}\nb_total {value}0\n"))
    };
    let mut odd = at(5, 9);
    odd.counters.values_mut().next().unwrap().clone_from(&3.0);
    let changed = change(&at(5, 8), &odd, 1.0);
    assert_eq!(
        (shown(&changed.rates), changed.fallen),
        (vec!["b_total{} 10".to_owned()], Some(("a_total".to_owned(), 1)))
    );
    let changed = change(&at(5, 8), &at(6, 9), 1.0);
    assert_eq!((changed.rates.len(), changed.fallen.map(|(_, count)| count)), (0, Some(1)));
}

#[test]
fn a_sum_may_fall_without_a_restart() {
    let summary = |sum: i32, count: u32| page(&format!("# TYPE t summary\nt_sum {sum}\nt_count {count}\n"));
    let changed = change(&summary(5, 5), &summary(3, 7), 1.0);
    assert_eq!((shown(&changed.rates), changed.fallen), (vec!["t_count{} 2".to_owned()], None));
}

#[test]
fn a_sum_whose_count_was_reset_is_a_gap() {
    let summary = |sum: u32, count: u32| {
        page(&format!("process_start_time_seconds 5\n# TYPE t summary\nt_sum {sum}\nt_count {count}\n"))
    };
    // Fewer observations than before, each of them larger.
    let changed = change(&summary(50, 9), &summary(400, 2), 1.000_142);
    assert_eq!((shown(&changed.rates), changed.fallen), (vec![], Some(("t_count".to_owned(), 1))));
}

fn histogram(counts: [u64; 4]) -> Page {
    let [a, b, c, d] = counts;
    page(&format!(
        "# TYPE t histogram\nt_bucket{{le=\"0.1\"}} {a}\nt_bucket{{le=\"0.2\"}} {b}\nt_bucket{{le=\"1\"}} {c}\nt_bucket{{le=\"+Inf\"}} {d}\n"
    ))
}

#[test]
fn quantiles_are_those_of_the_interval() {
    // In between: 50 up to 0.1, 45 up to 0.2, 5 up to 1.
    let changed = change(&histogram([900, 900, 900, 900]), &histogram([950, 995, 1000, 1000]), 1.0);
    insta::assert_snapshot!(shown(&changed.quantiles).join("\n"), @r"
    t_p50{} 0.1
    t_p95{} 0.2
    t_p99{} 0.8400000000000001
    ");
    assert_eq!(
        change(&histogram([1, 2, 3, 4]), &histogram([1, 2, 3, 4]), 1.0).quantiles,
        [],
        "nothing was observed"
    );
}

#[test]
fn beyond_the_largest_bound_nothing_is_known() {
    let changed = change(&histogram([0; 4]), &histogram([60, 60, 60, 100]), 1.0);
    assert_eq!(shown(&changed.quantiles), ["t_p50{} 0.08333333333333334"]);
    assert_eq!(changed.beyond, Some(("t_p95".to_owned(), 1.0)));
}

#[test]
fn buckets_that_do_not_fit_give_nothing() {
    let other = page("# TYPE t histogram\nt_bucket{le=\"0.1\"} 99\nt_bucket{le=\"+Inf\"} 999\n");
    assert_eq!(change(&histogram([1, 2, 3, 4]), &other, 1.0).quantiles, []);
    let crooked = change(&histogram([1, 9, 9, 9]), &histogram([8, 9, 9, 12]), 1.0);
    assert_eq!(crooked.quantiles, [], "a bucket has less than those below it");
}

proptest! {
    #[test]
    fn a_quantile_lies_in_the_bucket_that_holds_it(
        before in any::<[u16; 4]>(),
        grown in any::<[u16; 4]>(),
    ) {
        let sum = |counts: [u16; 4]| {
            let mut total = 0;
            counts.map(|count| { total += u64::from(count); total })
        };
        let (then, more) = (sum(before), sum(grown));
        let now = [0, 1, 2, 3].map(|at| then[at] + more[at]);
        let changed = change(&histogram(then), &histogram(now), 1.0);
        prop_assert_eq!(changed.fallen, None);
        let bounds = [0.1, 0.2, 1.0];
        for ((quantile, suffix), below) in QUANTILES.iter().zip(std::iter::repeat(more)) {
            let name = format!("t{suffix}");
            let found = changed.quantiles.iter().find(|(id, _)| id.name == name);
            let at = below.iter().position(|count| *count > 0 && *count as f64 >= quantile * below[3] as f64);
            match (found, at) {
                (Some((_, value)), Some(at)) => {
                    let lower = at.checked_sub(1).map_or(0.0, |at| bounds[at]);
                    prop_assert!((lower..=bounds[at]).contains(value), "{value} is not in bucket {at}");
                }
                (None, Some(3) | None) => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn no_rate_is_negative(values in any::<[i32; 6]>(), seconds in 0.1..100.0_f64) {
        let of = |values: &[i32]| page(&format!("a_total {}\nb_total {}\n# TYPE c summary\nc_sum {}\n", values[0], values[1], values[2]));
        let changed = change(&of(&values[..3]), &of(&values[3..]), seconds);
        prop_assert!(changed.rates.iter().all(|(_, rate)| *rate >= 0.0 && rate.is_finite()));
    }
}
