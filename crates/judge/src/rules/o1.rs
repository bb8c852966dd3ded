//! O1: what was watched and not seen.

use evidence::{Finding, Notice, NoticeKind, Scope, Severity};

use crate::facts::{Facts, Watcher};
use crate::rule::{named, with_figures};

/// Notices that a finding repeats; the run file has them all.
const TOLD: usize = 3;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.watchers.iter().map(look_at).collect()
}

fn look_at(watcher: &Watcher) -> Finding {
    let is_gap = watcher.notices.iter().any(|notice| is_trouble(notice.kind));
    let severity = if is_gap { Severity::Caution } else { Severity::Info };
    let told: Vec<String> = watcher.notices.iter().take(TOLD).map(words).collect();
    let more = match watcher.notices.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let told = format!("{}{more}", told.join("; "));
    let what = match watcher.missing_s {
        Some(seconds) if seconds >= 0.5 => {
            format!("{}: {seconds:.0} s of its series are missing ({told}).", watcher.name)
        }
        _ => format!("{}: {told}.", watcher.name),
    };
    let finding = named("O1").finding(severity, Scope::default(), what);
    match watcher.missing_s {
        Some(seconds) => with_figures(finding, &[("missing", seconds, "s")]),
        None => finding,
    }
}

fn words(notice: &Notice) -> String {
    format!("at {} s: {}", notice.at.second(), notice.text)
}

/// Whether a series has a gap for it, or lacks something.
fn is_trouble(kind: NoticeKind) -> bool {
    match kind {
        NoticeKind::Gone | NoticeKind::Unreadable | NoticeKind::Late | NoticeKind::Restarted => true,
        NoticeKind::Appeared | NoticeKind::Several | NoticeKind::Remark => false,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::time::Duration;

    use evidence::{Instant, Observed, SeriesKey, Sink as _};

    use super::*;
    use crate::testing::{Bench, Load};

    fn bench(looks: impl IntoIterator<Item = Range<u32>>, notices: &[(u64, NoticeKind, &str)]) -> Bench {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        let own = |name: &str, unit: &str| SeriesKey::new(name, SeriesKey::GENERATOR, unit).part("web redis");
        bench.observe(&own("observer_cpu", "cores"), 0..70, 0.01);
        for seconds in looks {
            bench.observe(&own("observer_took", "s"), seconds, 0.002);
        }
        let notice = |(second, kind, text): &(u64, NoticeKind, &str)| Notice {
            at: Instant::at(Duration::from_secs(*second)),
            observer: "web redis".to_owned(),
            kind: *kind,
            text: (*text).to_owned(),
        };
        let notices = notices.iter().map(notice).collect();
        bench.run.observed(&Observed { notices, ..Observed::default() }).unwrap();
        bench
    }

    #[test]
    fn what_is_missing_is_said_once_for_each_observer() {
        let notices = [
            (20, NoticeKind::Gone, "connection refused"),
            (30, NoticeKind::Appeared, "answers again"),
            (30, NoticeKind::Restarted, "its counters began anew"),
            (40, NoticeKind::Remark, "something else"),
        ];
        insta::assert_snapshot!(bench([0..20, 30..70], &notices).findings(rule), @r"
        caution [] web redis: 10 s of its series are missing (at 20 s: connection refused; at 30 s: answers again; at 30 s: its counters began anew; and 1 more).
          missing Some(10.0) s
        ");
    }

    #[test]
    fn an_observer_that_never_saw_anything_is_told() {
        let notices = [(0, NoticeKind::Gone, "connection refused")];
        insta::assert_snapshot!(bench([], &notices).findings(rule), @r"
        caution [] web redis: 70 s of its series are missing (at 0 s: connection refused).
          missing Some(70.0) s
        ");
    }

    #[test]
    fn what_stands_in_the_way_of_nothing_is_for_information() {
        let notices = [(5, NoticeKind::Remark, "`t_p99` is beyond the largest bound, 1")];
        insta::assert_snapshot!(bench(Some(0..70), &notices).findings(rule), @r"
        info [] web redis: at 5 s: `t_p99` is beyond the largest bound, 1.
          missing Some(0.0) s
        ");
    }

    #[test]
    fn observers_that_saw_all_say_nothing() {
        insta::assert_snapshot!(bench(Some(0..70), &[]).findings(rule), @"nothing");
    }

    #[test]
    fn no_claim_is_touched() {
        let notices = [(0, NoticeKind::Gone, "connection refused")];
        let bench = bench([], &notices).asks("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(bench.verdict(), @r"
        PASS: The objective is kept.
        PASS fast
          10.5 ms over 6,000 observations keeps < 50 ms.
        ");
    }
}
