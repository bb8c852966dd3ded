//! Parses objectives: `p95(initialize, phase = gameplay) < 50ms`.

mod elsewhere;

use evidence::visible;

use super::{Comparison, CostKind, Filter, Measure, Objective, Quantity, Statistic};
use crate::nearest::nearest;
use crate::units;
use elsewhere::{k6_threshold, unknown_measure};

/// The built-in series of observers, those of the generator last.
pub const SERIES: [&str; 20] = [
    "cpu",
    "cpus_allowed",
    "rss",
    "processes",
    "threads",
    "fds",
    "ctx_voluntary",
    "ctx_involuntary",
    "busiest_thread_cpu",
    "run_delay",
    "in_flight",
    "iterations",
    "virtual_users",
    "connections",
    "loop_cpu",
    "recorder_lag",
    "active",
    "active_max",
    "cap",
    "at_cap",
];

/// Whether this is the name of a built-in series.
pub fn is_series(name: &str) -> bool {
    SERIES.contains(&name)
}

/// An error in an objective; displayed with its text and a caret, as lines of visible characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}\n    {}\n    {}^", visible(message), visible(source_text), " ".repeat(self.column()))]
pub struct ObjectiveError {
    /// What is wrong and what to do.
    pub message: String,
    /// The byte of the objective's text at which the error is.
    pub at: usize,
    /// The objective's text.
    pub source_text: String,
}

impl ObjectiveError {
    /// The number of characters before the error, as they are shown.
    fn column(&self) -> usize {
        let before = &self.source_text[..self.source_text.floor_char_boundary(self.at)];
        visible(before).chars().count()
    }
}

/// Parse an objective. A name of a series is taken as such; see [`parse_among`].
///
/// # Errors
/// [`ObjectiveError`] with the place of the error.
pub fn parse(name: &str, text: &str) -> Result<Objective, ObjectiveError> {
    parse_among(name, text, &|_| false)
}

/// Parse an objective of a plan whose endpoints are known: a name of both an endpoint and a series means the
/// endpoint, unless the objective has a `target`.
///
/// # Errors
/// [`ObjectiveError`] with the place of the error.
pub fn parse_among(
    name: &str,
    text: &str,
    is_endpoint: &dyn Fn(&str) -> bool,
) -> Result<Objective, ObjectiveError> {
    let parsed = Cursor { text, at: 0 }.objective(name, is_endpoint);
    parsed.map_err(|SyntaxError { at, message }| ObjectiveError { message, at, source_text: text.to_owned() })
}

/// Parse what runs are compared by: an objective without a comparison, or a cost per request. Names are taken as in
/// [`parse_among`].
///
/// # Errors
/// [`ObjectiveError`] with the place of the error.
pub fn parse_quantity(text: &str, is_endpoint: &dyn Fn(&str) -> bool) -> Result<Quantity, ObjectiveError> {
    let parsed = Cursor { text, at: 0 }.quantity(is_endpoint);
    parsed.map_err(|SyntaxError { at, message }| ObjectiveError { message, at, source_text: text.to_owned() })
}

/// What is wrong, and at which byte.
struct SyntaxError {
    at: usize,
    message: String,
}

impl SyntaxError {
    fn new(at: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError { at, message: message.into() }
    }
}

/// A word and the byte at which it begins.
struct Word<'a> {
    text: &'a str,
    at: usize,
}

/// The text between the parentheses: a name, and values with keys.
#[derive(Default)]
struct Arguments<'a> {
    subject: Option<Word<'a>>,
    named: Vec<(Word<'a>, Word<'a>)>,
}

impl<'a> Arguments<'a> {
    /// Remove and return the value of `key`.
    fn take(&mut self, key: &str) -> Option<Word<'a>> {
        let index = self.named.iter().position(|(name, _)| name.text == key)?;
        Some(self.named.remove(index).1)
    }

    /// Remove and return the value of `key`, a name.
    fn take_name(&mut self, key: &str) -> Option<String> {
        self.take(key).map(|word| word.text.to_owned())
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

const FORM: &str = "write it like `p95(list, phase = gameplay) < 50ms`";
const KEYS: [&str; 6] = ["endpoint", "scenario", "phase", "target", "within", "check"];

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skip `sign` if it comes next.
    fn eat(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// A quoted text, or the text up to one of `ends`.
    fn word(&mut self, ends: &[char]) -> Result<Word<'a>, SyntaxError> {
        self.skip_blanks();
        let at = self.at;
        if self.eat("\"") {
            let length =
                self.rest().find('"').ok_or_else(|| SyntaxError::new(at, "a `\"` without a closing `\"`"))?;
            let text = &self.rest()[..length];
            self.at += length + 1;
            return Ok(Word { text, at });
        }
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let text = self.rest()[..length].trim_end();
        self.at += length;
        Ok(Word { text, at })
    }

    fn objective(mut self, name: &str, is_endpoint: &dyn Fn(&str) -> bool) -> Result<Objective, SyntaxError> {
        if let Some(ours) = k6_threshold(self.text) {
            return Err(SyntaxError::new(
                0,
                format!("a threshold of k6 is an objective here: write `{ours}`"),
            ));
        }
        let function = self.function()?;
        let mut arguments = match self.eat("(") {
            true => self.arguments()?,
            // `p95 < 50ms` is about all requests.
            false if !function.text.is_empty() => Arguments::default(),
            false => return Err(SyntaxError::new(self.at, format!("an objective is missing; {FORM}"))),
        };
        let measure = measure(&function, &mut arguments, is_endpoint)?;
        let filter = filter(&measure, &mut arguments)?;
        if let Some((key, _)) = arguments.named.first() {
            return Err(SyntaxError::new(key.at, misplaced(key.text)));
        }
        let comparison = self.comparison()?;
        self.skip_blanks();
        let bound = self.bound(&measure)?;
        let source = self.text.to_owned();
        Ok(Objective { name: name.to_owned(), source, measure, filter, comparison, bound, abort_after: None })
    }

    fn quantity(mut self, is_endpoint: &dyn Fn(&str) -> bool) -> Result<Quantity, SyntaxError> {
        let function = self.function()?;
        if !self.eat("(") {
            return Err(SyntaxError::new(
                self.at,
                "a `(` is missing; write it like `p95(list, phase = gameplay)`",
            ));
        }
        let mut arguments = self.arguments()?;
        self.skip_blanks();
        if !self.rest().is_empty() {
            return Err(SyntaxError::new(
                self.at,
                "nothing follows the `)`: what is compared has a margin, not a bound",
            ));
        }
        let cost = CostKind::NAMES.into_iter().find(|(name, _)| *name == function.text);
        let quantity = match cost {
            Some((_, cost)) => {
                let subject = arguments.subject.take().map(|word| word.text.to_owned());
                let target = arguments.take_name("target").or(subject);
                Quantity::Cost { cost, target, phase: arguments.take_name("phase") }
            }
            None => {
                let measure = measure(&function, &mut arguments, is_endpoint)?;
                let filter = filter(&measure, &mut arguments)?;
                Quantity::Measure { measure, filter }
            }
        };
        match arguments.named.first() {
            Some((key, _)) => Err(SyntaxError::new(key.at, misplaced(key.text))),
            None => Ok(quantity),
        }
    }

    /// The name before the parentheses or the comparison.
    fn function(&mut self) -> Result<Word<'a>, SyntaxError> {
        let word = self.word(&['(', '<', '>'])?;
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%');
        match word.text.find(|c| !is_part(c)).map(|at| word.text.split_at(at)) {
            Some((name, rest)) if is_measure(name) => {
                let at = word.at + word.text.len() - rest.trim_start().len();
                let rest = rest.trim_start();
                Err(SyntaxError::new(at, format!("`<`, `<=`, `>` or `>=` is missing before `{rest}`")))
            }
            _ => Ok(word),
        }
    }

    /// The rest, which is the bound alone.
    fn bound(&self, measure: &Measure) -> Result<f64, SyntaxError> {
        let text = self.rest().trim_end();
        let wrong = |message| SyntaxError::new(self.at, message);
        bound(measure, text).map_err(|message| match self.after_bound(measure, text) {
            Some(surplus) => surplus,
            None => wrong(message),
        })
    }

    /// What follows a bound that is one: a second comparison, or what belongs between the parentheses.
    fn after_bound(&self, measure: &Measure, text: &str) -> Option<SyntaxError> {
        let end = text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '&' | '|'))?;
        let (first, rest) = text.split_at(end);
        bound(measure, first).ok()?;
        let surplus = rest.trim_start();
        let at = self.at + text.len() - surplus.len();
        let second = surplus.trim_start_matches("and ").trim_start_matches("or ");
        let second = second.trim_start_matches([',', ';', '&', '|']).trim_start();
        Some(SyntaxError::new(
            at,
            match second.contains(['<', '>']) {
                true => format!("an objective has one comparison; `{second}` is an objective of its own"),
                false => format!(
                    "nothing follows the bound: endpoint, scenario and phase are in parentheses; {FORM}"
                ),
            },
        ))
    }

    fn arguments(&mut self) -> Result<Arguments<'a>, SyntaxError> {
        let mut arguments = Arguments::default();
        if self.eat(")") {
            return Ok(arguments);
        }
        loop {
            let word = self.word(&[',', ')', '='])?;
            if word.text.is_empty() {
                return Err(SyntaxError::new(word.at, format!("a name is missing; {FORM}")));
            }
            if self.eat("=") {
                let value = self.word(&[',', ')'])?;
                if arguments.named.iter().any(|(key, _)| key.text == word.text) {
                    return Err(SyntaxError::new(word.at, format!("`{}` is given twice", word.text)));
                }
                arguments.named.push((word, value));
            } else if arguments.subject.is_none() {
                arguments.subject = Some(word);
            } else {
                let text = format!("a second name; write `phase = {0}` or `scenario = {0}`", word.text);
                return Err(SyntaxError::new(word.at, text));
            }
            if self.eat(")") {
                return Ok(arguments);
            }
            if !self.eat(",") {
                return Err(SyntaxError::new(self.at, format!("`,` or `)` is missing; {FORM}")));
            }
        }
    }

    fn comparison(&mut self) -> Result<Comparison, SyntaxError> {
        let signs = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.eat(sign));
        match found {
            Some(_) if self.rest().starts_with(['<', '>', '=']) => {
                Err(SyntaxError::new(self.at, "a comparison is `<`, `<=`, `>` or `>=`; a bound follows it"))
            }
            Some((_, comparison)) => Ok(comparison),
            None => Err(SyntaxError::new(
                self.at,
                "`<`, `<=`, `>` or `>=` and a bound are missing; on a command line quote it, or the shell takes the sign: 'p95 < 50ms'",
            )),
        }
    }
}

fn misplaced(key: &str) -> String {
    match nearest(key, KEYS) {
        _ if KEYS.contains(&key) => format!("`{key}` does not apply to this measure"),
        Some(near) => format!("there is no `{key}`; did you mean `{near}`?"),
        None => format!("there is no `{key}`; known are `{}`", KEYS.join("`, `")),
    }
}

/// `avg`, `mean`, `min`, `max`, `median`, `p95`, `p99.9`.
fn statistic(text: &str) -> Option<Statistic> {
    Some(match text {
        "avg" | "mean" => Statistic::Mean,
        "max" => Statistic::Max,
        "min" => Statistic::Min,
        "median" => Statistic::Quantile(0.5),
        _ => {
            let digits = text.strip_prefix('p')?;
            let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
                && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
            // Parsed with the exponent −2: a division by 100 would make 99.9 % 0.9990000000000001.
            let quantile: f64 = format!("{digits}e-2").parse().ok().filter(|_| is_number)?;
            // Whoever writes `p0.95` means 95 %, which nearly every run would meet if it were taken as 0.95 %.
            (0.01..=1.0).contains(&quantile).then_some(Statistic::Quantile(quantile))?
        }
    })
}

fn measure(
    function: &Word<'_>,
    arguments: &mut Arguments<'_>,
    is_endpoint: &dyn Fn(&str) -> bool,
) -> Result<Measure, SyntaxError> {
    match function.text {
        "error_rate" => return Ok(Measure::ErrorRate),
        "throughput" => return Ok(Measure::Throughput),
        "check_rate" => return Ok(Measure::CheckRate { check: arguments.take_name("check") }),
        "goodput" => {
            let within = arguments.take("within");
            let read = |word: Word<'_>| {
                units::duration(word.text).map_err(|message| SyntaxError::new(word.at, message))
            };
            return Ok(Measure::Goodput { within: within.map(read).transpose()? });
        }
        _ => {}
    }
    if let Some(statistic) = function.text.strip_prefix("service_").and_then(statistic) {
        return Ok(Measure::ServiceTime(statistic));
    }
    if let Some(statistic) = function.text.strip_prefix("iteration_").and_then(statistic) {
        return Ok(Measure::IterationTime(statistic));
    }
    let statistic = statistic(function.text)
        .or_else(|| k6_quantile(function.text, arguments))
        .ok_or_else(|| SyntaxError::new(function.at, unknown_measure(function.text)))?;
    let target = arguments.take_name("target");
    match &arguments.subject {
        Some(word) if target.is_some() || (is_series(word.text) && !is_endpoint(word.text)) => {
            Ok(Measure::Series { statistic, name: word.text.to_owned(), target })
        }
        _ if target.is_some() => {
            Err(SyntaxError::new(function.at, "`target` goes with a series: `mean(cpu, target = x)`"))
        }
        _ => Ok(Measure::ResponseTime(statistic)),
    }
}

/// `p(95)`, as k6 writes it: a quantile of all.
fn k6_quantile(function: &str, arguments: &mut Arguments<'_>) -> Option<Statistic> {
    let percent = arguments.subject.as_ref().filter(|_| function == "p")?;
    let found = statistic(&format!("p{}", percent.text))?;
    arguments.subject = None;
    Some(found)
}

/// Whether a measure has this name.
fn is_measure(name: &str) -> bool {
    let timed = ["", "service_", "iteration_"];
    ["error_rate", "throughput", "check_rate", "goodput"].contains(&name)
        || timed.iter().any(|prefix| name.strip_prefix(prefix).and_then(statistic).is_some())
}

fn filter(measure: &Measure, arguments: &mut Arguments<'_>) -> Result<Filter, SyntaxError> {
    let scenario = arguments.take_name("scenario");
    let phase = arguments.take_name("phase");
    let named = arguments.take_name("endpoint");
    let endpoint = match (measure, arguments.subject.take()) {
        (Measure::Series { .. }, _) => None,
        (_, Some(word)) if word.text == "all" => None,
        (Measure::IterationTime(_), Some(word)) => {
            let text = "an iteration is of a scenario, not of an endpoint: `iteration_p95(scenario = play)`";
            return Err(SyntaxError::new(word.at, text));
        }
        (_, Some(word)) => Some(word.text.to_owned()),
        (_, None) => None,
    };
    Ok(Filter { endpoint: endpoint.or(named), scenario, phase })
}

/// The bound in the measure's unit.
fn bound(measure: &Measure, text: &str) -> Result<f64, String> {
    if text.is_empty() {
        return Err(format!("the bound is missing: {FORM}"));
    }
    match (measure.unit(), measure) {
        ("ms", _) => units::duration(text).map(|bound| bound.as_secs_f64() * 1e3),
        ("1/s", _) => units::rate(text),
        ("1", _) => match (units::share(text), text.ends_with('%')) {
            (None, _) => Err(format!("`{text}` is not a share; write `0.1%` or `0.001`")),
            (Some(share), false) if share >= 1.0 => {
                Err(format!("`{text}` is {} %; write `{text}%`", share * 100.0))
            }
            (Some(share), true) if share > 1.0 => {
                Err(format!("`{text}` is more than all; a share is at most 100%"))
            }
            (Some(share), _) => Ok(share),
        },
        (_, Measure::Series { name, .. }) => series_bound(name, text),
        _ => Err(format!("`{text}` is not a bound")),
    }
}

fn series_bound(name: &str, text: &str) -> Result<f64, String> {
    let plain = |units: &[&str]| units::split_number(text).filter(|(_, u)| units.contains(u)).map(|(n, _)| n);
    let (bound, example) = match name {
        "rss" => (units::bytes(text), "100MB"),
        "cpu" | "loop_cpu" | "busiest_thread_cpu" => {
            let percent = units::share(text).filter(|_| text.ends_with('%'));
            (percent.or_else(|| plain(&["", "cores", "core"])), "0.85")
        }
        "ctx_voluntary" | "ctx_involuntary" => (plain(&["", "/s"]), "1000/s"),
        "run_delay" => (plain(&["", "s/s"]), "0.5"),
        "recorder_lag" => (units::duration(text).ok().map(|lag| lag.as_secs_f64()), "1s"),
        _ => (plain(&[""]), "100"),
    };
    bound.ok_or_else(|| format!("`{text}` is not a bound for `{name}`; write it like `{example}`"))
}
