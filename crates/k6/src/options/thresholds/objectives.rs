//! Thresholds as objectives, for a judge that gives them a verdict of its own.

use evidence::metric::MetricKind;
use workload::{Comparison, Filter, Measure, MetricMeasure, MetricStatistic, MetricUnit, Objective};

use super::expression::{Aggregation, Operator};
use super::{MetricThresholds, Threshold};

impl Aggregation {
    /// The same of a metric of this kind.
    pub fn statistic(self, kind: MetricKind) -> MetricStatistic {
        match self {
            Aggregation::Count => MetricStatistic::Sum,
            Aggregation::Rate if kind == MetricKind::Rate => MetricStatistic::NonzeroShare,
            Aggregation::Rate => MetricStatistic::SumPerSecond,
            Aggregation::Value => MetricStatistic::Last,
            Aggregation::Avg => MetricStatistic::Mean,
            Aggregation::Min => MetricStatistic::Min,
            Aggregation::Max => MetricStatistic::Max,
            Aggregation::Med => MetricStatistic::Quantile(0.5),
            Aggregation::Percentile(percent) => MetricStatistic::Quantile(percent / 100.0),
        }
    }
}

impl From<Operator> for Comparison {
    fn from(operator: Operator) -> Comparison {
        match operator {
            Operator::Less => Comparison::Below,
            Operator::LessOrEqual => Comparison::AtMost,
            Operator::Greater => Comparison::Above,
            Operator::GreaterOrEqual => Comparison::AtLeast,
            Operator::Equal => Comparison::Equal,
            Operator::NotEqual => Comparison::NotEqual,
        }
    }
}

impl MetricThresholds {
    /// The thresholds as objectives, each once, named by metric and expression. The values of the metric are in this unit.
    pub fn objectives(&self, unit: MetricUnit) -> Vec<Objective> {
        let mut objectives: Vec<Objective> = Vec::new();
        for threshold in &self.thresholds {
            let objective = self.objective(threshold, unit);
            if objectives.iter().all(|known| known.name != objective.name) {
                objectives.push(objective);
            }
        }
        objectives
    }

    fn objective(&self, threshold: &Threshold, unit: MetricUnit) -> Objective {
        let measure = MetricMeasure {
            name: self.selector.name.clone(),
            tags: self.selector.tags.clone(),
            statistic: threshold.expression.aggregation.statistic(self.kind),
            unit,
        };
        let name = format!("{} {}", self.source, threshold.source);
        Objective {
            source: name.clone(),
            name,
            measure: Measure::Metric(measure),
            filter: Filter { scenario: self.selector.tags.get("scenario").cloned(), ..Filter::default() },
            comparison: threshold.expression.operator.into(),
            bound: threshold.expression.bound,
            abort_after: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Expression, MetricSelector};
    use super::*;

    #[test]
    fn a_threshold_is_an_objective_on_its_metric() {
        let threshold = |source: &str| Threshold {
            source: source.to_owned(),
            expression: Expression::parse(source).unwrap(),
            abort_on_fail: false,
            delay_abort_eval: std::time::Duration::ZERO,
        };
        let of = MetricThresholds {
            source: "http_req_duration{scenario:buy}".to_owned(),
            selector: MetricSelector::parse("http_req_duration{scenario:buy}").unwrap(),
            kind: MetricKind::Trend,
            thresholds: ["p(95)<500", "avg <= 200", "p(95)<500"].map(threshold).to_vec(),
        };
        let objectives = of.objectives(MetricUnit::Milliseconds);
        let [p95, mean] = objectives.as_slice() else { panic!("{objectives:?}") };
        assert_eq!(p95.name, "http_req_duration{scenario:buy} p(95)<500");
        assert_eq!((p95.comparison, p95.bound, p95.measure.unit()), (Comparison::Below, 500.0, "ms"));
        assert_eq!(p95.filter.scenario.as_deref(), Some("buy"));
        let Measure::Metric(measure) = &mean.measure else { panic!("{mean:?}") };
        assert_eq!((measure.statistic, mean.comparison), (MetricStatistic::Mean, Comparison::AtMost));
        assert_eq!(Aggregation::Rate.statistic(MetricKind::Counter), MetricStatistic::SumPerSecond);
        assert_eq!(Aggregation::Rate.statistic(MetricKind::Rate), MetricStatistic::NonzeroShare);
    }
}
