//! How often verdicts on simulated runs of known truth are wrong.

use std::thread;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::screen;
use evidence::TerminalText;
use serde_json::{Value, json};
use simulation::{Simulation, Subject, Tally, catalogue};

/// The answers to one question about one kind of runs.
struct Row {
    subject: Subject,
    tally: Tally,
}

/// What is simulated.
#[derive(Debug, Clone)]
pub struct VerdictOptions {
    /// Runs of each kind.
    pub runs: u64,
    /// The seed of the first run; the next one has the next number.
    pub seed: u64,
    /// Only kinds whose name contains one of these words; none: all.
    pub only: Vec<String>,
}

/// How often verdicts on simulated runs were wrong.
pub struct VerdictTest {
    asked: VerdictOptions,
    rows: Vec<Row>,
}

impl VerdictTest {
    /// Simulate runs of every kind that is asked for.
    ///
    /// # Errors
    /// When no kind has such a name.
    pub fn run(asked: VerdictOptions) -> CommandResult<VerdictTest> {
        let subjects = chosen(&asked.only)?;
        let mut rows = Vec::new();
        for (number, subject) in (1..).zip(subjects.iter().copied()) {
            screen::note(format_args!("{number} of {}: {}", subjects.len(), subject.name()));
            let tallies = simulated(&subject.prepare(), asked.runs, asked.seed);
            rows.extend(tallies.into_iter().map(|tally| Row { subject, tally }));
        }
        Ok(VerdictTest { asked, rows })
    }

    /// Whether no figure exceeds its limit.
    pub fn is_within_limits(&self) -> bool {
        self.rows.iter().all(|row| row.tally.is_within_limits())
    }

    /// In words and a table.
    pub fn text(&self) -> TerminalText {
        text(&self.rows, &self.asked)
    }

    /// As JSON.
    pub fn json(&self) -> String {
        json(&self.rows, &self.asked)
    }
}

/// The answers in so many runs, which begin with this seed. Each processor takes its part of them.
fn simulated(simulation: &Simulation, runs: u64, seed: u64) -> Vec<Tally> {
    let parts = thread::available_parallelism().map_or(1, usize::from);
    let part = |nth: u64| simulation.run((nth..runs).step_by(parts).map(|run| seed.wrapping_add(run)));
    let part = &part;
    thread::scope(|scope| {
        let others: Vec<_> = (1..parts as u64).map(|nth| scope.spawn(move || part(nth))).collect();
        let mut tallies = part(0);
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            tallies.iter_mut().zip(&other).for_each(|(tally, other)| tally.merge(other));
        }
        tallies
    })
}

fn chosen(only: &[String]) -> CommandResult<Vec<Subject>> {
    let words: Vec<String> = only.iter().map(|word| word.to_lowercase()).collect();
    let is_chosen = |subject: &Subject| {
        let name = subject.name().to_lowercase();
        words.is_empty() || words.iter().any(|word| name.contains(word))
    };
    let subjects: Vec<Subject> = catalogue().into_iter().filter(is_chosen).collect();
    if subjects.is_empty() {
        let names: Vec<&str> = catalogue().iter().map(Subject::name).collect();
        let names = names.join("\n  ");
        return Err(Failure::usage(anyhow!(
            "--only {}: nothing that is simulated has such a name; there are:\n  {names}",
            only.join(",")
        )));
    }
    Ok(subjects)
}

fn text(rows: &[Row], asked: &VerdictOptions) -> TerminalText {
    let mut text = TerminalText::default();
    let VerdictOptions { runs, seed, .. } = asked;
    text.line(format_args!(
        "Verdicts on simulated runs whose truth is known, {runs} runs each from seed {seed}"
    ));
    text.line("");
    text.line("                                       wrong PASS  wrong FAIL  undecided   limit");
    let mut last = "";
    for row in rows {
        let name = row.subject.name();
        if name != last {
            text.line(name).line(format_args!("  {}", row.subject.description()));
            last = name;
        }
        text.line(line(&row.tally));
    }
    let exceeded = rows.iter().filter(|row| !row.tally.is_within_limits()).count();
    text.line("").line(match exceeded {
        0 => format!("PASS: none of {} figures exceeds its limit by more than chance explains.", rows.len()),
        _ => format!("FAIL: {exceeded} of {} figures exceed their limits.", rows.len()),
    });
    text
}

fn line(tally: &Tally) -> String {
    let shown = |count: Option<u64>| count.map_or("–".to_owned(), |count| percent(share(tally, count)));
    let limits = &tally.question.limits;
    let kept = limits.kept.map_or(String::new(), |kept| format!(", PASS in {} at least", percent(kept)));
    format!(
        "  {:<37}{:>10}  {:>10}  {:>9}  {:>6}{kept}{}",
        tally.question.text,
        shown(tally.wrong_pass()),
        shown(tally.wrong_fail()),
        shown(Some(tally.undecided)),
        shown_limit(limits.wrong),
        if tally.is_within_limits() { "" } else { "  EXCEEDED" }
    )
}

fn json(rows: &[Row], asked: &VerdictOptions) -> String {
    let row = |Row { subject, tally }: &Row| -> Value {
        json!({
            "simulated": subject.name(),
            "description": subject.description(),
            "question": tally.question.text,
            "runs": tally.runs(),
            "wrong_pass": tally.wrong_pass().map(|count| share(tally, count)),
            "wrong_fail": tally.wrong_fail().map(|count| share(tally, count)),
            "undecided": share(tally, tally.undecided),
            "limit": Some(tally.question.limits.wrong).filter(|wrong| *wrong < 1.0),
            "pass_at_least": tally.question.limits.kept,
            "is_within_limits": tally.is_within_limits(),
        })
    };
    let value = json!({
        "runs": asked.runs,
        "seed": asked.seed,
        "figures": rows.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

/// 0 to 1.
fn share(tally: &Tally, count: u64) -> f64 {
    count as f64 / tally.runs().max(1) as f64
}

/// Where any share may be wrong, nothing is promised.
fn shown_limit(wrong: f64) -> String {
    if wrong < 1.0 { percent(wrong) } else { "–".to_owned() }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use simulation::{Limits, Question, Truth};

    use super::*;

    fn row(truth: Truth, [passed, failed, undecided]: [u64; 3]) -> Row {
        let limits = Limits { wrong: 0.05, kept: (truth == Truth::Met).then_some(0.99) };
        let question = Question { text: "p95, true share 1.00 × allowed".to_owned(), truth, limits };
        Row { subject: catalogue()[0], tally: Tally { question, passed, failed, undecided } }
    }

    #[test]
    fn figures_are_shown_with_their_limits() {
        let asked = VerdictOptions { runs: 1_000, seed: 1, only: Vec::new() };
        let rows = [
            row(Truth::Met, [1_000, 0, 0]),
            row(Truth::AtBound, [30, 20, 950]),
            row(Truth::Violated, [200, 700, 100]),
        ];
        insta::assert_snapshot!(text(&rows, &asked), @r"
        Verdicts on simulated runs whose truth is known, 1000 runs each from seed 1

                                               wrong PASS  wrong FAIL  undecided   limit
        one worker, FIFO
          100 arrivals a second at random, 6 ms each of one worker, which is busy for 60 % of the time
          p95, true share 1.00 × allowed                –       0.0 %      0.0 %   5.0 %, PASS in 99.0 % at least
          p95, true share 1.00 × allowed            3.0 %       2.0 %     95.0 %   5.0 %
          p95, true share 1.00 × allowed           20.0 %           –     10.0 %   5.0 %  EXCEEDED

        FAIL: 1 of 3 figures exceed their limits.
        ");
    }

    #[test]
    fn figures_as_data_describe_what_is_simulated() {
        let asked = VerdictOptions { runs: 1_000, seed: 1, only: Vec::new() };
        let value: Value = serde_json::from_str(&json(&[row(Truth::Met, [1_000, 0, 0])], &asked)).unwrap();
        let figure = &value["figures"][0];
        assert_eq!(figure["simulated"], "one worker, FIFO");
        assert!(figure["description"].as_str().unwrap().starts_with("100 arrivals a second"), "{value}");
    }

    #[test]
    fn a_word_that_no_name_contains_is_an_error() {
        let error = chosen(&["neighbors".to_owned()]).unwrap_err();
        assert!(error.text().contains("neighbours take half"), "{}", error.text());
        assert!(chosen(&["LEAK".to_owned()]).unwrap().len() > 3);
    }
}
