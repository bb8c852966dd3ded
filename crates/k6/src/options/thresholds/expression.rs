//! One expression of a threshold: an aggregation, an operator and a number.

use evidence::metric::MetricKind;

/// What an expression asks of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregation {
    /// The sum of a counter.
    Count,
    /// A counter's sum a second, or the share of a rate.
    Rate,
    /// The last value of a gauge.
    Value,
    /// The mean of a trend.
    Avg,
    /// The lowest value of a trend.
    Min,
    /// The highest value of a trend.
    Max,
    /// The median of a trend.
    Med,
    /// A percentile of a trend, from 0 to 100.
    Percentile(f64),
}

/// How an aggregation is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==` and `===`
    Equal,
    /// `!=`
    NotEqual,
}

/// What must hold of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expression {
    /// What of the metric is compared.
    pub aggregation: Aggregation,
    /// How it is compared.
    pub operator: Operator,
    /// With what it is compared; times are in milliseconds.
    pub bound: f64,
}

/// A metric of a run, or the part of it with certain tags.
pub trait Aggregates {
    /// Its aggregation; 0 where nothing was observed, as in k6.
    fn aggregate(&self, aggregation: Aggregation) -> f64;
}

/// Each operator; one that begins with another one comes before it.
const OPERATORS: [(&str, Operator); 7] = [
    ("===", Operator::Equal),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];
const NAMED: [Aggregation; 7] = [
    Aggregation::Count,
    Aggregation::Rate,
    Aggregation::Value,
    Aggregation::Avg,
    Aggregation::Min,
    Aggregation::Max,
    Aggregation::Med,
];

/// What a kind of metrics is called, and the aggregations that it has.
pub(super) fn aggregations(kind: MetricKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        MetricKind::Counter => ("counter", &["count", "rate"]),
        MetricKind::Gauge => ("gauge", &["value"]),
        MetricKind::Rate => ("rate", &["rate"]),
        MetricKind::Trend => ("trend", &["avg", "min", "max", "med", "p(N)"]),
    }
}

impl Aggregation {
    pub fn name(self) -> &'static str {
        match self {
            Aggregation::Count => "count",
            Aggregation::Rate => "rate",
            Aggregation::Value => "value",
            Aggregation::Avg => "avg",
            Aggregation::Min => "min",
            Aggregation::Max => "max",
            Aggregation::Med => "med",
            Aggregation::Percentile(_) => "p(N)",
        }
    }

    fn parse(text: &str) -> Result<Aggregation, String> {
        if let Some(named) = NAMED.into_iter().find(|aggregation| aggregation.name() == text) {
            return Ok(named);
        }
        let percent = text.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
        let percent = percent.and_then(|percent| percent.parse().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(Aggregation::Percentile).ok_or_else(|| {
            let number = text.strip_prefix('p').filter(|number| number.parse::<f64>().is_ok());
            let meant = number.map(|number| format!("; write `p({number})`")).unwrap_or_default();
            format!("must begin with count, rate, value, avg, min, max, med or p(N) with N from 0 to 100, not {text:?}{meant}")
        })
    }
}

impl Operator {
    /// The first operator of a text, with what is before and after it.
    fn split(text: &str) -> Option<(&str, Operator, &str)> {
        let at = |start: usize| OPERATORS.into_iter().find(|(sign, _)| text[start..].starts_with(sign));
        let mut found = text.char_indices().filter_map(|(start, _)| Some((start, at(start)?)));
        let (start, (sign, operator)) = found.next()?;
        Some((&text[..start], operator, &text[start + sign.len()..]))
    }

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
        }
    }
}

impl Expression {
    /// `p(95)<500`, `rate >= 0.99`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let malformed = || "is not a comparison such as \"p(95)<500\"".to_owned();
        let (left, operator, right) = Operator::split(text).ok_or_else(malformed)?;
        if right.trim().is_empty() {
            return Err(malformed());
        }
        let aggregation = Aggregation::parse(left.trim())?;
        let bound = number(right.trim()).ok_or_else(|| format!("{:?} is not a number", right.trim()))?;
        Ok(Expression { aggregation, operator, bound })
    }

    /// Whether it holds of a metric.
    pub fn holds(&self, metric: &dyn Aggregates) -> bool {
        self.operator.holds(metric.aggregate(self.aggregation), self.bound)
    }
}

/// A number, whose digits may be grouped: `1_000`.
fn number(text: &str) -> Option<f64> {
    let is_digit = |c: Option<&u8>| c.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let groups = |at: usize| at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
    if !text.match_indices('_').all(|(at, _)| groups(at)) {
        return None;
    }
    text.replace('_', "").parse().ok()
}
