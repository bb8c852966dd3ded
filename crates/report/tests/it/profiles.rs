//! Profiles as text, flame graph and JSON.

use profile::{
    Builder, CallTree, Frame, Profile, Side, TopOptions, ValueType, View, ViewOptions, compare, top,
};
use report::profiles;

/// A profile of the processor at 100 Hz: stacks with their samples, the outermost function first.
pub(crate) fn cpu(stacks: &[(&[&str], i64)]) -> Profile {
    const PERIOD_NS: i64 = 10_000_000;
    let named = |name: &str, unit: &str| ValueType { name: name.to_owned(), unit: unit.to_owned() };
    let types = vec![named("samples", "count"), named("cpu", "nanoseconds")];
    let mut builder = Builder::new(types);
    for (stack, samples) in stacks {
        let frames: Vec<Frame<'_>> = stack.iter().map(|function| Frame { function, binary: "" }).collect();
        builder.sample(&frames, &[*samples, samples * PERIOD_NS]).expect("it is small");
    }
    let mut profile = builder.finish();
    profile.period_type = named("cpu", "nanoseconds");
    profile.period = PERIOD_NS;
    profile.duration_ns = 10_000_000_000;
    profile
}

pub(crate) fn view(profile: &Profile) -> View<'_> {
    View::new(profile, ViewOptions::default()).expect("it has a sample type")
}

#[test]
fn the_top_has_its_sample_type_and_a_head_for_each_number() {
    let profile =
        cpu(&[(&["main", "serve", "parse"], 300), (&["main", "serve"], 100), (&["main", "rare"], 1)]);
    let text = profiles::top(&top(&view(&profile), TopOptions::default()));
    insta::assert_snapshot!(text, @r"
    cpu in nanoseconds: 4.01 s in all, from 401 samples, over 10.0 s: 40.1 % of a core
    3 of 4 functions, by flat value; their flat values are 99.8 % of the total
    1 functions with a small share are left out

      flat  flat %   sum %     cum   cum %  samples  function
    3.00 s  74.8 %  74.8 %  3.00 s  74.8 %      300  parse
    1.00 s  24.9 %  99.8 %  4.00 s  99.8 %      100  serve
      0 µs     0 %  99.8 %  4.01 s   100 %        0  main
    ");
}

#[test]
fn a_function_with_few_samples_is_marked() {
    let profile = cpu(&[(&["main", "parse"], 300), (&["main", "rare"], 24), (&["main", "enough"], 25)]);
    insta::assert_snapshot!(profiles::top(&top(&view(&profile), TopOptions::default())), @r"
    cpu in nanoseconds: 3.49 s in all, from 349 samples, over 10.0 s: 34.9 % of a core
    4 of 4 functions, by flat value; their flat values are 100 % of the total

      flat  flat %   sum %     cum   cum %  samples  function
    3.00 s  86.0 %  86.0 %  3.00 s  86.0 %      300  parse
    250 ms  7.16 %  93.1 %  250 ms  7.16 %       25  enough
    240 ms  6.88 %   100 %  240 ms  6.88 %       24  rare [too few samples]
      0 µs     0 %   100 %  3.49 s   100 %        0  main

    [too few samples]: fewer than 25; they show where to look, nothing more (rule Q8)
    ");
    let plenty = cpu(&[(&["main", "parse"], 300), (&["main", "enough"], 25)]);
    let text = profiles::top(&top(&view(&plenty), TopOptions::default()));
    assert!(!text.contains("too few") && !text.contains("Q8"), "{text}");
}

#[test]
fn the_tree_counts_calls_that_it_does_not_list() {
    let profile =
        cpu(&[(&["main", "serve", "parse"], 300), (&["main", "serve"], 100), (&["main", "rare"], 1)]);
    let text = profiles::tree(&CallTree::build(&view(&profile)), 0.005);
    insta::assert_snapshot!(text, @r#"
    cpu in nanoseconds

    with calls        %     own       %  call
        4.01 s    100 %                  all
        4.01 s    100 %                  | main
        4.00 s   99.8 %  1.00 s  24.9 %  | | serve
        3.00 s   74.8 %  3.00 s  74.8 %  | | | parse
       10.0 ms  0.249 %                  | | … 1 more
    "#);
}

#[test]
fn a_comparison_starts_with_the_total_and_ends_with_its_caveats() {
    let base = cpu(&[(&["main", "serve", "parse"], 300), (&["main", "serve", "store"], 300)]);
    let new = cpu(&[(&["main", "serve", "parse"], 600), (&["main", "serve", "store"], 303)]);
    let (base, new) = (view(&base), view(&new));
    let side = |view, requests| Side { view, requests };
    let per_request =
        compare(side(&base, Some(1_000)), side(&new, Some(1_000))).expect("both count the same");
    insta::assert_snapshot!(profiles::comparison(&per_request, 20), @r"
    cpu in nanoseconds, per request, of 1,000 and 1,000 requests
    total: 6.00 ms -> 9.03 ms, +3.03 ms (+50.5 %), 95 % interval +2.27 ms to +3.79 ms: more than sampling explains

    1 of 2 functions moved by more than sampling explains (flat values):
       base      new  difference         95 % interval  of change    samples  function
    3.00 ms  6.00 ms    +3.00 ms  +2.41 ms to +3.59 ms     99.0 %  300 / 600  parse [under serve: +3.03 ms]

    1 more differ by no more than sampling explains, or are undecided (0 with too few samples, rule Q8):
       base      new  difference       95 % interval  of change    samples  function
    3.00 ms  3.03 ms      +30 µs  −451 µs to +511 µs    0.990 %  300 / 303  store

    Caveats:
    - One profile per side shows only what moved by more than sampling error; shares differ more than that between runs. Take several pairs, in alternation, before you call it a regression.
    ");
    let shares = compare(side(&base, None), side(&new, None)).expect("both count the same");
    let text = profiles::comparison(&shares, 20);
    assert!(text.contains("as shares of the total") && text.contains("+16.4 points"), "{text}");
    assert!(text.contains("the total is not compared"), "{text}");
}

#[test]
fn a_flame_graph_has_every_box_and_loads_nothing() {
    let hostile = "<script>alert(1)</script>\"'&\u{7}";
    let profile = cpu(&[(&["main", hostile], 300), (&["main", "tiny"], 1), (&["main", "b"], 1_000)]);
    let tree = CallTree::build(&view(&profile));
    let page = profiles::flame_page(&tree, "a <b> & c");
    for part in ["main: 13.0 s (100 %), flat 0 µs (0 %)", "<title>a &lt;b&gt; &amp; c</title>"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains('\u{7}') && !page.contains(">tiny<"), "{page}");
    assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("url("), "{page}");
    assert_eq!(profiles::flame(&tree).matches("<rect ").count(), 4, "all, main and two of its calls");
}

#[test]
fn an_empty_mutex_profile_does_not_show_that_nothing_waited() {
    let named = |name: &str, unit: &str| ValueType { name: name.to_owned(), unit: unit.to_owned() };
    let types = vec![named("contentions", "count"), named("delay", "nanoseconds")];
    let empty = Builder::new(types).finish();
    let view = view(&empty);
    let text = profiles::top(&top(&view, TopOptions::default()));
    assert!(
        text.contains("sampling was off or its rate is unknown. This does not show that nothing waited"),
        "{text}"
    );
    let page = profiles::flame_page(&CallTree::build(&view), "empty");
    assert!(page.contains("There is nothing to draw"), "{page}");
    let side = Side { view: &view, requests: Some(7) };
    let compared = compare(side, side).expect("both count the same");
    let text = profiles::comparison(&compared, 20);
    assert!(
        text.contains("In the baseline sampling was off or its rate is unknown: waiting was not measured"),
        "{text}"
    );
}

#[test]
fn the_json_has_a_schema_and_unscaled_numbers() {
    let profile = cpu(&[(&["main", "parse"], 300)]);
    let view = view(&profile);
    let (listed, tree) = (top(&view, TopOptions::default()), CallTree::build(&view));
    let json = profiles::Document::new(&listed, &tree, None).json();
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(value["schema"], "plimsoll.profile/1");
    assert_eq!(value["top"]["rows"][0]["flat"], 3_000_000_000_i64);
    assert_eq!(value["tree"]["nodes"][0]["value"], 3_000_000_000_i64);
    assert_eq!(value["top"]["sample_type"]["type"], "cpu");
    assert!(value["comparison"].is_null());
}
