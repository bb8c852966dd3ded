//! Which phases of a run are what it measures.

use workload::Workload;

/// The phases that the objectives name, where each names one, and otherwise all that are load. Of several, none whose name
/// begins with `warm`.
pub(super) fn phases<'n>(names: &'n [String], workload: Option<&Workload>) -> Vec<&'n str> {
    let objectives = workload.map(|workload| &*workload.objectives).unwrap_or_default();
    let judged: Option<Vec<&str>> =
        objectives.iter().map(|objective| objective.filter.phase.as_deref()).collect();
    let judged = judged.filter(|judged| names.iter().any(|name| judged.contains(&&**name)));
    let is_counted = |name: &&str| match &judged {
        Some(judged) => judged.contains(name),
        None => !evidence::Key::is_beside_load(name),
    };
    let load: Vec<&str> = names.iter().map(String::as_str).filter(is_counted).collect();
    let hot: Vec<&str> = load.iter().copied().filter(|name| !name.starts_with("warm")).collect();
    if hot.is_empty() { load } else { hot }
}

#[cfg(test)]
mod tests {
    use workload::{Filter, Objective, Statistic};

    use super::*;

    fn measured(objectives: &[Option<&str>]) -> String {
        let names = ["setup", "warm-up", "steady", "peak", "teardown"].map(str::to_owned);
        let objective = |phase: &Option<&str>| Objective {
            name: "fast".to_owned(),
            source: String::new(),
            measure: workload::Measure::ResponseTime(Statistic::Mean),
            filter: Filter { phase: phase.map(str::to_owned), ..Filter::default() },
            comparison: workload::Comparison::Below,
            bound: 1.0,
            abort_after: None,
        };
        let objectives = objectives.iter().map(objective).collect();
        let workload = Workload { objectives, ..Workload::named("shop") };
        phases(&names, Some(&workload)).join(", ")
    }

    #[test]
    fn the_measured_phases_are_those_of_the_objectives_and_no_warm_up() {
        assert_eq!(measured(&[]), "steady, peak");
        assert_eq!(measured(&[Some("peak")]), "peak");
        assert_eq!(measured(&[Some("peak"), None]), "steady, peak", "one objective counts all phases");
        assert_eq!(measured(&[Some("warm-up"), Some("steady")]), "steady");
        assert_eq!(measured(&[Some("warm-up")]), "warm-up", "there is nothing else");
        assert_eq!(measured(&[Some("renamed")]), "steady, peak", "no run has that phase");
    }
}
