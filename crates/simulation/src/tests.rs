use super::*;

/// The figures of the subjects whose name contains `name`: none may exceed its limit by more than chance explains.
fn assert_within_limits(name: &str, runs: u64) {
    let subjects: Vec<Subject> =
        catalogue().into_iter().filter(|subject| subject.name().contains(name)).collect();
    assert!(!subjects.is_empty(), "{name}");
    for subject in subjects {
        for tally in subject.prepare().run(1..=runs) {
            assert_eq!(tally.runs(), runs);
            assert!(tally.is_within_limits(), "{}: {tally:?}", subject.name());
        }
    }
}

#[test]
fn verdicts_on_a_quiet_machine_are_seldom_wrong() {
    assert_within_limits("one worker, constant arrivals", 40);
}

#[test]
fn verdicts_beside_neighbours_are_seldom_wrong_and_pass_is_kept() {
    assert_within_limits("neighbours take half, slow target", 40);
}

#[test]
fn verdicts_on_failures_in_bursts_are_seldom_wrong() {
    assert_within_limits("neighbours take half, failures in bursts", 40);
}

/// Many a timeout is under way during a stall of a few milliseconds.
#[test]
fn most_runs_show_outages_beside_short_stalls() {
    let mut subjects = catalogue().into_iter();
    let outages = subjects.find(|subject| subject.name() == "short stalls, outages of seconds").unwrap();
    let tallies = outages.prepare().run(1..=20);
    assert!(tallies.iter().all(Tally::is_within_limits), "{tallies:?}");
    let violated = tallies.iter().find(|tally| tally.question.truth == Truth::Violated).unwrap();
    assert!(violated.failed > violated.undecided, "{violated:?}");
}

#[test]
fn steady_state_is_seldom_mistaken() {
    assert_within_limits("steady state", 200);
}

#[test]
fn leaks_are_seldom_mistaken() {
    assert_within_limits("leak", 100);
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let simulation = catalogue().pop().unwrap().prepare();
    assert_eq!(simulation.run(7..10), simulation.run(7..10));
    let mut parts = simulation.run(7..9);
    parts.iter_mut().zip(simulation.run(9..10)).for_each(|(part, other)| part.merge(&other));
    assert_eq!(simulation.run(7..10), parts);
}

#[test]
fn names_and_descriptions_are_different() {
    for text in [Subject::name, Subject::description] {
        let subjects = catalogue();
        let texts: std::collections::BTreeSet<&str> = subjects.iter().map(text).collect();
        assert_eq!(texts.len(), subjects.len());
        assert!(!texts.contains(""));
    }
}
