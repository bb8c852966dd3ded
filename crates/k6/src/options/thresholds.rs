//! Thresholds: what must hold of metrics, and whether it does.
//!
//! [`compile`] checks those of the options against the metrics that there are; [`Expression::holds`] evaluates one.

mod expression;
mod metrics;
mod objectives;
mod selector;

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::metric::MetricKind;
use serde_json::Value;

use super::duration::OptionDuration;
use super::fields::{Fields, FromJson, fields, mismatch};
pub use expression::{Aggregates, Aggregation, Expression, Operator};
pub use metrics::{BUILT_IN_METRICS, built_in_kind};
pub use selector::MetricSelector;

#[cfg(test)]
mod tests;

/// A threshold as options describe it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThresholdOptions {
    pub threshold: String,
    /// Whether the run ends when it does not hold.
    pub abort_on_fail: bool,
    /// How long after the start of the load it ends the run at the earliest.
    pub delay_abort_eval: Duration,
}

/// A threshold that can be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Its text, by which the summary names it.
    pub source: String,
    /// What must hold.
    pub expression: Expression,
    /// Whether the run ends when it does not hold.
    pub abort_on_fail: bool,
    /// How long after the start of the load it ends the run at the earliest.
    pub delay_abort_eval: Duration,
}

/// The thresholds of one metric, or of its observations with certain tags.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricThresholds {
    /// The name of the metric and tags as the options have it, by which the summary names it.
    pub source: String,
    /// Which observations it is about.
    pub selector: MetricSelector,
    /// What the metric counts.
    pub kind: MetricKind,
    /// The thresholds, in the order of the options.
    pub thresholds: Vec<Threshold>,
}

/// Why a threshold cannot be evaluated. k6 exits with 104.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// The expression cannot be read.
    #[error("threshold {expression:?} of {metric}: {reason}")]
    Expression {
        /// The metric, with its tags.
        metric: String,
        expression: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The name of a metric and its tags cannot be read.
    #[error("threshold of {metric}: {reason}")]
    Selector {
        metric: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such metric.
    #[error("threshold of {metric}: there is no metric {name:?}{}", metrics::similar(.name))]
    UnknownMetric {
        /// The metric, with its tags.
        metric: String,
        name: String,
    },
    /// The metric has no such aggregation.
    #[error("threshold {expression:?} of {metric}: a {kind} has no {aggregation}; it has {has}")]
    Aggregation {
        /// The metric, with its tags.
        metric: String,
        expression: String,
        /// What the metric counts.
        kind: &'static str,
        /// What the expression asks for.
        aggregation: &'static str,
        /// What it could ask for.
        has: String,
    },
}

/// Check thresholds against the metrics of a run, whose kinds `kind_of` returns by name; see [`built_in_kind`].
///
/// # Errors
/// [`ThresholdError`] for the first that cannot be evaluated: expressions first, as in k6.
pub fn compile(
    options: &BTreeMap<String, Vec<ThresholdOptions>>,
    kind_of: impl Fn(&str) -> Option<MetricKind>,
) -> Result<Vec<MetricThresholds>, ThresholdError> {
    let mut read = Vec::new();
    for (metric, thresholds) in options {
        let thresholds = thresholds.iter().map(|threshold| threshold.read(metric));
        read.push((metric, thresholds.collect::<Result<Vec<_>, _>>()?));
    }
    let compile = |(metric, thresholds): (&String, Vec<Threshold>)| {
        let refused = |reason| ThresholdError::Selector { metric: metric.clone(), reason };
        let selector = MetricSelector::parse(metric).map_err(refused)?;
        let unknown =
            || ThresholdError::UnknownMetric { metric: metric.clone(), name: selector.name.clone() };
        let kind = kind_of(&selector.name).ok_or_else(unknown)?;
        for threshold in &thresholds {
            threshold.check_kind(metric, kind)?;
        }
        Ok(MetricThresholds { source: metric.clone(), selector, kind, thresholds })
    };
    read.into_iter().map(compile).collect()
}

impl ThresholdOptions {
    fn read(&self, metric: &str) -> Result<Threshold, ThresholdError> {
        let refused = |reason| ThresholdError::Expression {
            metric: metric.to_owned(),
            expression: self.threshold.clone(),
            reason,
        };
        let expression = Expression::parse(&self.threshold).map_err(refused)?;
        let ThresholdOptions { threshold, abort_on_fail, delay_abort_eval } = self.clone();
        Ok(Threshold { source: threshold, expression, abort_on_fail, delay_abort_eval })
    }
}

impl Threshold {
    fn check_kind(&self, metric: &str, kind: MetricKind) -> Result<(), ThresholdError> {
        let (name, has) = expression::aggregations(kind);
        let aggregation = self.expression.aggregation.name();
        if has.contains(&aggregation) {
            return Ok(());
        }
        Err(ThresholdError::Aggregation {
            metric: metric.to_owned(),
            expression: self.source.clone(),
            kind: name,
            aggregation,
            has: has.join(", "),
        })
    }
}

fields! {
    /// A threshold as an object.
    struct ThresholdFields {
        threshold: String = "threshold";
        /// Whether the run ends when it does not hold.
        abort_on_fail: bool = "abortOnFail";
        /// How long after the start of the load it ends the run at the earliest.
        delay_abort_eval: OptionDuration = "delayAbortEval";
    }
}

/// An expression, or an object with one.
impl FromJson for ThresholdOptions {
    fn from_json(value: &Value) -> Result<ThresholdOptions, String> {
        if let Some(text) = value.as_str() {
            return Ok(ThresholdOptions { threshold: text.to_owned(), ..ThresholdOptions::default() });
        }
        if !value.is_object() {
            return Err(mismatch("a text such as \"p(95)<500\", or an object with one", value));
        }
        let mut fields = ThresholdFields::default();
        fields.set_all(value)?;
        Ok(ThresholdOptions {
            threshold: fields.threshold.ok_or("it has no threshold")?,
            abort_on_fail: fields.abort_on_fail.unwrap_or(false),
            delay_abort_eval: fields.delay_abort_eval.and_then(OptionDuration::unsigned).unwrap_or_default(),
        })
    }
}
