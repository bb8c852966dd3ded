//! How often each rule was right, as tables.

use std::collections::BTreeMap;

use super::outcome::{Named, Outcome, Rule};
use crate::bench::table::Table;

/// How cases ended.
#[derive(Clone, Copy, Default)]
struct Counts {
    right: u64,
    another: u64,
    nothing: u64,
}

impl Counts {
    fn of<'o>(outcomes: impl Iterator<Item = &'o Outcome>, rule: Rule) -> Counts {
        let mut counts = Counts::default();
        for outcome in outcomes {
            match outcome.named(rule) {
                Named::Right => counts.right += 1,
                Named::Another => counts.another += 1,
                Named::Nothing => counts.nothing += 1,
            }
        }
        counts
    }

    fn all(self) -> u64 {
        self.right + self.another + self.nothing
    }

    fn cells(self) -> Vec<String> {
        [self.right, self.another, self.nothing].map(|count| count.to_string()).into()
    }
}

/// The tables of these outcomes.
pub(super) fn tables(outcomes: &[Outcome]) -> Vec<Table> {
    vec![by_rule(outcomes), by_cause(outcomes), left_out(outcomes)]
}

fn by_rule(outcomes: &[Outcome]) -> Table {
    let mut rows = Vec::new();
    for (is_observed, kind) in
        [(true, "the limit is observed"), (false, "it is not, or is not in the service")]
    {
        for (rule, name) in Rule::ALL {
            let counts = Counts::of(outcomes.iter().filter(|one| one.is_observed() == is_observed), rule);
            rows.push(vec![
                format!("{kind} ({})", counts.all()),
                name.to_owned(),
                if is_observed { limits(counts.right, counts.all()) } else { "–".to_owned() },
                limits(counts.another, counts.all()),
                limits(counts.nothing, counts.all()),
            ]);
        }
    }
    Table {
        head: &["cases", "rule", "limit named", "another named", "UNDETERMINED"],
        rows,
        ..Table::default()
    }
}

fn by_cause(outcomes: &[Outcome]) -> Table {
    let mut kinds: BTreeMap<(&str, &str), Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        kinds.entry((&outcome.service, &outcome.cause)).or_default().push(outcome);
    }
    let row = |((service, cause), these): ((&str, &str), Vec<&Outcome>)| {
        let is_observed = these.iter().any(|one| one.is_observed());
        let observed = if is_observed { "yes" } else { "no" };
        let mut cells: Vec<String> = [service, cause, observed].map(str::to_owned).into();
        cells.extend(Counts::of(these.into_iter(), Rule::Ledger).cells());
        cells
    };
    Table {
        head: &["service", "what limits", "observed", "right", "wrong", "none"],
        rows: kinds.into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// The counts without each service and without each cause.
fn left_out(outcomes: &[Outcome]) -> Table {
    let parts: [fn(&Outcome) -> &str; 2] = [|one| one.service.as_str(), |one| one.cause.as_str()];
    let mut rows = Vec::new();
    for part in parts {
        let mut names: Vec<&str> = outcomes.iter().map(part).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let rest = || outcomes.iter().filter(|one| part(one) != name);
            let mut cells = vec![name.to_owned()];
            cells.extend(Counts::of(rest(), Rule::Ledger).cells());
            rows.push(cells);
        }
    }
    Table { head: &["without", "right", "wrong", "none"], rows, ..Table::default() }
}

/// A share with its two limits at 95 %, each one-sided (Clopper and Pearson).
fn limits(count: u64, all: u64) -> String {
    if all == 0 {
        return "–".to_owned();
    }
    let percent = |share: f64| (100.0 * share).round();
    let low = if count == 0 { 0.0 } else { solve(|share| 1.0 - at_most(count - 1, all, share) < 0.05) };
    let high = if count == all { 1.0 } else { solve(|share| at_most(count, all, share) > 0.05) };
    let share = percent(count as f64 / all as f64);
    format!("{count}: {share} % ({} to {})", percent(low), percent(high))
}

/// The share up to which a condition holds.
fn solve(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// The probability of so many or fewer of all, where each is so with the probability `share`.
fn at_most(count: u64, all: u64, share: f64) -> f64 {
    let mut term = (1.0 - share).powi(all as i32);
    let mut sum = term;
    for k in 0..count {
        term *= (all - k) as f64 / (k + 1) as f64 * share / (1.0 - share);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(service: &str, right: &[&str], ledger: Option<&str>) -> Outcome {
        Outcome {
            number: 0,
            service: service.to_owned(),
            cause: "a cause".to_owned(),
            severity: 1,
            shape: "arranged".to_owned(),
            right: right.iter().map(|&name| name.to_owned()).collect(),
            ledger: ledger.map(str::to_owned),
            highest_use: Some("CPU".to_owned()),
            high_use: None,
            because: String::new(),
            seconds: 1,
        }
    }

    #[test]
    fn cases_are_counted_by_rule_by_cause_and_without_each_service() {
        let outcomes = [
            outcome("one", &["CPU"], Some("CPU")),
            outcome("one", &["CPU"], None),
            outcome("two", &[], Some("CPU")),
            outcome("two", &[], None),
        ];
        let texts: Vec<String> = tables(&outcomes).iter().map(Table::render).collect();
        assert!(
            texts[0]
                .contains("| the limit is observed (2) | ledger | 1: 50 % (3 to 97) | 0: 0 % (0 to 78) |"),
            "{}",
            texts[0]
        );
        assert!(
            texts[0].contains("in the service (2) | highest use | – | 2: 100 % (22 to 100) |"),
            "{}",
            texts[0]
        );
        assert!(texts[1].contains("| one | a cause | yes | 1 | 0 | 1 |"), "{}", texts[1]);
        assert!(texts[1].contains("| two | a cause | no | 0 | 1 | 1 |"), "{}", texts[1]);
        assert!(texts[2].contains("| one | 0 | 1 | 1 |\n| two | 1 | 0 | 1 |"), "{}", texts[2]);
    }

    #[test]
    fn limits_of_shares_are_those_of_the_binomial_distribution() {
        // Of 60 without one: 1 - 0.05^(1/60).
        assert_eq!(limits(0, 60), "0: 0 % (0 to 5)");
        assert_eq!(limits(60, 60), "60: 100 % (95 to 100)");
        assert_eq!(limits(5, 10), "5: 50 % (22 to 78)");
    }
}
