use super::*;
use crate::build::folded;
use crate::gaussian::Z_95;
use crate::model::Profile;
use crate::{ViewOptions, merge, since};

const MS: i64 = 1_000_000;

/// A CPU profile at 100 Hz: each stack with its number of samples.
fn cpu(text: &str) -> Profile {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let (stack, samples) = line.split_once(' ').expect("a stack and its samples");
        let samples: i64 = samples.parse().expect("a number");
        format!("{stack} {samples} {}\n", samples * 10 * MS)
    });
    let mut profile = folded(&[("samples", "count"), ("cpu", "nanoseconds")], &lines.collect::<String>());
    profile.period_type = profile.sample_types[1].clone();
    profile.period = 10 * MS;
    profile.duration_ns = 30_000 * MS;
    profile
}

fn compared(base: (&Profile, Option<u64>), new: (&Profile, Option<u64>)) -> Result<Comparison, CompareError> {
    let [base_view, new_view] =
        [base.0, new.0].map(|profile| View::new(profile, ViewOptions::default()).expect("it has types"));
    compare(Side { view: &base_view, requests: base.1 }, Side { view: &new_view, requests: new.1 })
}

fn mover<'c>(comparison: &'c Comparison, name: &str) -> &'c Mover {
    comparison.movers.iter().find(|mover| mover.name == name).expect("the function is in both profiles")
}

#[test]
fn costs_are_per_request_so_that_more_load_is_not_more_cost() {
    let base = cpu("serve;parse 400\nserve;store 600");
    let new = cpu("serve;parse 800\nserve;store 1200");
    let same = compared((&base, Some(1_000)), (&new, Some(2_000))).expect("both count the same");
    assert_eq!(same.total.difference, 0.0);
    assert_eq!(same.basis, Basis::Request { base: 1_000, new: 2_000 });
    assert!(same.movers.iter().all(|mover| mover.change.significance == Significance::Noise), "{same:#?}");
    let more_expensive = compared((&base, Some(1_000)), (&new, Some(1_000))).expect("both count the same");
    assert_eq!(more_expensive.total.significance, Significance::Moved);
    assert_eq!(mover(&more_expensive, "store").of_total_change, Some(0.6));
    assert_eq!(mover(&more_expensive, "store").change.new.measure, 12.0 * MS as f64);
}

#[test]
fn the_error_is_that_of_counts_pooled_over_both_sides() {
    let base = cpu("serve;a 100\nserve;b 900");
    let new = cpu("serve;a 130\nserve;b 900");
    let comparison = compared((&base, Some(1_000)), (&new, Some(1_000))).expect("both count the same");
    let change = mover(&comparison, "a").change;
    // 30 more of 230 in all: 30 / sqrt(230).
    assert!((change.standard_errors.expect("it is sampled") - 30.0 / 230_f64.sqrt()).abs() < 1e-9);
    let (low, high) = change.interval.expect("it is sampled");
    let half = Z_95 * 230_f64.sqrt() * 10.0 * MS as f64 / 1_000.0;
    assert!((high - low - 2.0 * half).abs() < 1.0);
}

#[test]
fn the_error_of_a_share_is_the_binomial_one() {
    let base = cpu("serve;a 100\nserve;b 1900");
    let new = cpu("serve;a 150\nserve;b 1850");
    let comparison = compared((&base, None), (&new, None)).expect("both count the same");
    let change = mover(&comparison, "a").change;
    assert_eq!((change.base.measure, change.new.measure), (0.05, 0.075));
    let share: f64 = 250.0 / 4_000.0;
    let error = (share * (1.0 - share) * (2.0 / 2_000.0)).sqrt();
    assert!((change.standard_errors.expect("it is sampled") - 0.025 / error).abs() < 1e-9);
    assert!(comparison.caveats.contains(&Caveat::NoRequests));
    assert_eq!(comparison.total.difference, 0.0, "the total is not compared by shares");
    assert_ne!(comparison.total.significance, Significance::Moved);
}

#[test]
fn functions_with_few_samples_are_not_tested() {
    let base = cpu("serve;rare 2\nserve;b 900\nserve;gone 60");
    let new = cpu("serve;rare 24\nserve;b 900\nserve;fresh 60");
    let comparison = compared((&base, Some(100)), (&new, Some(100))).expect("both count the same");
    let significance = |name| mover(&comparison, name).change.significance;
    assert_eq!(significance("rare"), Significance::TooFew);
    assert_eq!(
        (significance("gone"), significance("fresh")),
        (Significance::OneSided, Significance::OneSided)
    );
    assert_eq!(comparison.tested, 3, "functions with too few samples are not tested");
}

#[test]
fn of_many_functions_few_are_flagged_by_chance() {
    // 300 functions of 100 samples: one is 30 higher, 2.1 standard errors, which alone would be called a mover.
    let text = |high: u32| {
        (0..300).map(|at| format!("serve;f{at} {}\n", if at == 0 { high } else { 100 })).collect::<String>()
    };
    let (base, new, far) = (cpu(&text(100)), cpu(&text(130)), cpu(&text(190)));
    let by_chance = compared((&base, Some(1_000)), (&new, Some(1_000))).expect("both count the same");
    assert_eq!(mover(&by_chance, "f0").change.significance, Significance::Noise);
    let real = compared((&base, Some(1_000)), (&far, Some(1_000))).expect("both count the same");
    assert_eq!(mover(&real, "f0").change.significance, Significance::Moved);
    assert_eq!(real.movers[0].name, "f0", "movers come first");
}

#[test]
fn moved_cost_is_distinguished_from_new_cost() {
    let base = cpu("main;serve;handler;old_name 300\nmain;serve;handler;rest 300\nmain;serve;logs 400");
    let renamed = cpu("main;serve;handler;new_name 305\nmain;serve;handler;rest 300\nmain;serve;logs 400");
    let comparison = compared((&base, Some(1_000)), (&renamed, Some(1_000))).expect("both count the same");
    for name in ["old_name", "new_name"] {
        let under = mover(&comparison, name).under.as_ref().expect("it has callers");
        assert_eq!((under.caller.as_str(), under.is_shift), ("handler", true), "{name}");
    }
    assert!(comparison.caveats.contains(&Caveat::TotalUnmoved));
    let more_expensive =
        cpu("main;serve;handler;old_name 600\nmain;serve;handler;rest 300\nmain;serve;logs 400");
    let comparison =
        compared((&base, Some(1_000)), (&more_expensive, Some(1_000))).expect("both count the same");
    let under = mover(&comparison, "old_name").under.as_ref().expect("it has callers");
    assert_eq!((under.caller.as_str(), under.is_shift), ("handler", false));
    assert!(!comparison.caveats.contains(&Caveat::TotalUnmoved));
}

#[test]
fn recursion_does_not_count_a_caller_twice() {
    let base = cpu("main;walk;walk;walk;leaf 300\nmain;other 700");
    let new = cpu("main;walk;walk;walk;leaf 600\nmain;other 700");
    let comparison = compared((&base, Some(10)), (&new, Some(10))).expect("both count the same");
    let under = mover(&comparison, "leaf").under.as_ref().expect("it has callers");
    assert_eq!((under.caller.as_str(), under.change.new.value), ("walk", 6_000 * MS));
}

/// A heap profile at Go's rate, with objects of 512 KiB.
fn heap(allocated: i64) -> Profile {
    const SIZE: i64 = 512 << 10;
    let types = [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ];
    let text = format!("main;grow {allocated} {} 3 {}", allocated * SIZE, 3 * SIZE);
    let mut profile = folded(&types, &text);
    profile.default_sample_type = Some("alloc_space".to_owned());
    profile.period = SIZE;
    profile.period_type = ValueType { name: "space".to_owned(), unit: "bytes".to_owned() };
    profile
}

#[test]
fn allocations_have_fewer_samples_than_objects() {
    let mut profiles = [heap(1_000), heap(1_200)];
    for profile in &mut profiles {
        profile.duration_ns = 1;
    }
    let comparison =
        compared((&profiles[0], Some(10)), (&profiles[1], Some(10))).expect("both count the same");
    let change = mover(&comparison, "grow").change;
    let part = 1.0 - (-1.0_f64).exp();
    assert!((change.base.samples.expect("the rate is known") - 1_000.0 * part).abs() < 1e-6);
    // Each sample is worth 1 / part objects, so that the standard error of the count is sqrt(objects / part).
    let expected = 200.0 / (2_200.0 / part).sqrt();
    assert!((change.standard_errors.expect("the rate is known") - expected).abs() < 1e-6);
    assert!(!comparison.caveats.contains(&Caveat::SinceStart { side: ComparedSide::Base }));
    let few = compared((&heap(20), Some(10)), (&heap(900), Some(10))).expect("both count the same");
    assert!(few.caveats.contains(&Caveat::SinceStart { side: ComparedSide::Base }), "not a window");
    assert_eq!(mover(&few, "grow").change.significance, Significance::OneSided, "13 samples on one side");
}

#[test]
fn windows_of_accumulating_values_are_differences_and_never_negative() {
    let (start, end) = (heap(100), heap(250));
    let window = since(&start, &end).expect("they fit");
    let view = View::new(&window, ViewOptions::default()).expect("it has types");
    assert_eq!(view.total(), 150 * (512 << 10));
    let inuse = ViewOptions { sample_type: Some("inuse_space"), focus: None };
    assert_eq!(View::new(&window, inuse).expect("it has it").total(), 0, "nothing more is in use");
    let backwards = since(&end, &start).expect_err("allocations never shrink");
    assert!(backwards.to_string().starts_with("`alloc_objects` is less at the end than at the start"));
    assert!(since(&start, &cpu("a 1")).is_err(), "their sample types differ");
}

#[test]
fn a_state_is_compared_as_counted_and_may_shrink() {
    let goroutines = |text: &str| {
        let mut profile = folded(&[("goroutine", "count")], text);
        profile.period_type = profile.sample_types[0].clone();
        profile.period = 1;
        profile
    };
    let (base, new) = (goroutines("main;wait 5\nmain;serve 9"), goroutines("main;wait 50\nmain;serve 2"));
    let comparison = compared((&base, Some(10)), (&new, Some(9_999))).expect("both count the same");
    assert_eq!(comparison.basis, Basis::Absolute);
    assert_eq!(mover(&comparison, "wait").change.difference, 45.0);
    assert_eq!(mover(&comparison, "serve").change.difference, -7.0);
    assert_eq!(mover(&comparison, "wait").change.significance, Significance::Counted);
    assert!(mover(&comparison, "wait").change.interval.is_none(), "nothing was sampled");
}

#[test]
fn contention_that_was_not_sampled_is_unknown() {
    let types = [("contentions", "count"), ("delay", "nanoseconds")];
    let (off, on) = (folded(&types, ""), folded(&types, "serve;lock 400 900000"));
    let comparison = compared((&off, Some(10)), (&on, Some(10))).expect("both count the same");
    assert!(comparison.caveats.contains(&Caveat::NotMeasured { side: ComparedSide::Base }));
    assert!(comparison.caveats.contains(&Caveat::RateUnknown));
}

#[test]
fn whether_delays_differ_by_more_than_chance_is_unknown() {
    let types = [("contentions", "count"), ("delay", "nanoseconds")];
    let (base, new) = (folded(&types, "serve;lock 400 900000"), folded(&types, "serve;lock 410 9000000"));
    let comparison = compared((&base, Some(10)), (&new, Some(10))).expect("both count the same");
    let change = mover(&comparison, "lock").change;
    assert_eq!((change.significance, change.base.samples), (Significance::Unknown, None));
    assert!(change.interval.is_none(), "one of the 410 may have been as long as all others");
}

#[test]
fn denominators_come_in_pairs_and_are_not_zero() {
    let profile = cpu("a 100");
    let refused =
        |base, new| compared((&profile, base), (&profile, new)).expect_err("it is refused").to_string();
    assert!(refused(Some(1), None).starts_with("both sides need a count of requests, or neither"));
    assert!(refused(Some(0), Some(1)).starts_with("no request was completed"));
    let other = compared((&profile, None), (&heap(5), None)).expect_err("bytes are not nanoseconds");
    assert_eq!(other.to_string(), "one counts cpu in nanoseconds, the other alloc_space in bytes");
}

#[test]
fn a_profile_compared_with_itself_shows_no_difference() {
    let profile = cpu("main;a 100\nmain;b 300\nmain;c 12");
    let twice = merge(&[&profile, &profile]).expect("they fit");
    assert_eq!((twice.sample_count(), twice.duration_ns), (3, 2 * profile.duration_ns));
    for (new, requests) in [(&profile, None), (&twice, None), (&twice, Some(200))] {
        let comparison =
            compared((&profile, requests.map(|count: u64| count / 2)), (new, requests)).expect("they fit");
        assert!(comparison.movers.iter().all(|mover| !mover.change.significance.is_difference()));
        assert!(comparison.movers.iter().all(|mover| mover.change.difference.abs() < 1e-9));
    }
}

#[test]
fn an_empty_profile_causes_no_division_by_zero() {
    let (empty, full) = (cpu(""), cpu("a 100"));
    for (base, new) in [(&empty, &full), (&full, &empty), (&empty, &empty)] {
        for requests in [None, Some(10)] {
            let comparison = compared((base, requests), (new, requests)).expect("both count the same");
            assert!(comparison.movers.iter().all(|mover| mover.change.difference.is_finite()));
            assert!(comparison.total.difference.is_finite());
        }
    }
}
