//! What is not measured is in every report, but not in a reader's way.

use evidence::memory::MemoryRun;
use evidence::{Ending, Key, Metric, Outcome};
use report::{Detail, Style, Summary};

use crate::{forms, judgements, sample_run};

#[test]
fn a_warm_up_is_folded_on_a_page_and_left_out_of_a_brief_terminal() {
    let mut workload = sample_run::workload();
    workload.phases[0].name = "warm-up".to_owned();
    let mut run = MemoryRun::new(sample_run::manifest());
    for (phase, seconds) in [("warm-up", 0..3), ("initialize", 10..13)] {
        for second in seconds {
            let key = |metric| Key::of(metric).scenario("play").phase(phase).endpoint("claim");
            run.add(&key(Metric::Requests), second, 10);
            run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, 5_000, 10);
            run.add(&key(Metric::WaitingNs), second, 40_000_000);
        }
    }
    let summary = Summary::of(&run, &workload, &judgements::measured()).expect("memory");
    let brief = forms::terminal(&summary, Style::Plain, 100, Detail::Brief);
    assert!(!brief.contains("Phase warm-up  ") && !brief.contains("claim in warm-up"), "{brief}");
    assert!(brief.contains("-v shows also: Phase warm-up"), "{brief}");
    for of in ["requests begun = ", " in the table = "] {
        assert!(!brief.contains(of), "{brief}");
    }
    let full = forms::terminal(&summary, Style::Plain, 100, Detail::Full);
    assert!(full.contains("Phase warm-up  ") && full.contains("claim in warm-up"), "{full}");
    let page = forms::html(&summary);
    let folded = page.split("<details class=\"section\">").nth(1).expect("it is folded");
    assert!(folded.contains("<h2>Phase warm-up</h2></summary>") && folded.contains("claim in warm-up"));
    assert!(!page.split("<details class=\"section\">").next().unwrap().contains("claim in warm-up"));
}

#[test]
fn bodies_that_wait_for_an_acknowledgement_are_named_with_what_ends_it() {
    let said = |receiving_ns: u64| {
        let mut run = MemoryRun::new(sample_run::manifest());
        let key = |metric| Key::of(metric).scenario("play").phase("initialize").endpoint("claim");
        run.add(&key(Metric::Requests), 10, 10);
        run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), 10, 50_000, 10);
        run.add(&key(Metric::WaitingNs), 10, 60_000_000);
        run.add(&key(Metric::ReceivingNs), 10, receiving_ns * 10);
        let summary =
            Summary::of(&run, &sample_run::workload(), &judgements::measured()).expect("memory can be read");
        forms::terminal(&summary, Style::Plain, 300, Detail::Brief)
    };
    let waiting = said(41_000_000);
    assert!(
        waiting.contains("claim: receiving takes about 40 ms") && waiting.contains("TCP_NODELAY"),
        "{waiting}"
    );
    for other in [20_000_000, 60_000_000] {
        assert!(!said(other).contains("TCP_NODELAY"), "{}", said(other));
    }
}

#[test]
fn a_brief_terminal_has_the_arrivals_of_a_scenario_only_where_some_were_dropped() {
    let brief = |seconds| {
        let run = sample_run::run(seconds, Some(Ending::Completed));
        let summary =
            Summary::of(&run, &sample_run::workload(), &judgements::measured()).expect("memory can be read");
        let text = |detail| forms::terminal(&summary, Style::Plain, 100, detail);
        assert!(text(Detail::Full).contains("\n  events   "), "{}", text(Detail::Full));
        text(Detail::Brief)
    };
    let none_dropped = brief(60);
    assert!(!none_dropped.contains("\n  play "), "{none_dropped}");
    let dropped = brief(105);
    assert!(dropped.contains("\n  play ") && !dropped.contains("\n  events "), "{dropped}");
}
