//! Expected changes, which are reported beside what was measured.

use std::str::FromStr;

/// The largest change that may be expected, in per cent.
const MOST_PERCENT: f64 = 10_000.0;

/// An expected change of response time, such as `p95(list) -30%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Its text as given.
    pub text: String,
    /// The endpoint it is about; all if none.
    pub endpoint: Option<String>,
    /// The statistic of response times of successes.
    pub statistic: ExpectedStatistic,
    /// The change, as a share of the baseline: −0.3 for 30 % less.
    pub change: f64,
}

/// A statistic of response times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpectedStatistic {
    /// A quantile, 0 to 1.
    Quantile(f64),
    Mean,
}

/// Why a text is not an expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an expectation: {why}. Write `p95 -30%`, or `p95(list) -30%` for one endpoint")]
pub struct ExpectationError {
    text: String,
    why: &'static str,
}

impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Expectation, ExpectationError> {
        let error = |why| ExpectationError { text: text.to_owned(), why };
        let (statistic, change) = text.trim().rsplit_once(' ').ok_or(error("a change is missing"))?;
        let change = change.strip_suffix('%').ok_or(error("the change has no `%`"))?;
        if !change.starts_with(['+', '-', '−']) {
            return Err(error("the change has no sign"));
        }
        let percent: f64 =
            change.replace('−', "-").parse().map_err(|_| error("the change is not a number"))?;
        if percent == 0.0 || percent <= -100.0 || percent > MOST_PERCENT || !percent.is_finite() {
            return Err(error("a time cannot change by that much"));
        }
        let (statistic, endpoint) = match statistic.trim().split_once('(') {
            None => (statistic.trim(), None),
            Some((statistic, rest)) => {
                (statistic, Some(rest.strip_suffix(')').ok_or(error("a parenthesis is not closed"))?))
            }
        };
        Ok(Expectation {
            text: text.trim().to_owned(),
            endpoint: endpoint.map(|endpoint| endpoint.trim().to_owned()),
            statistic: statistic_of(statistic.trim())
                .ok_or(error("it does not begin with `p50`, `p95`, … or `avg`"))?,
            change: percent / 100.0,
        })
    }
}

fn statistic_of(name: &str) -> Option<ExpectedStatistic> {
    if name == "avg" {
        return Some(ExpectedStatistic::Mean);
    }
    let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(ExpectedStatistic::Quantile(percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_parsed() {
        let read: Expectation = "p95(list) -30%".parse().unwrap();
        assert_eq!(
            (read.statistic, read.endpoint.as_deref()),
            (ExpectedStatistic::Quantile(0.95), Some("list"))
        );
        assert_eq!(read.change, -0.3);
        let read: Expectation = " avg +12.5% ".parse().unwrap();
        assert_eq!((read.statistic, read.endpoint, read.change), (ExpectedStatistic::Mean, None, 0.125));
    }

    #[test]
    fn an_invalid_expectation_is_refused_with_the_reason() {
        let errors =
            ["p95", "p95 30%", "p95 -30", "p95 -x%", "p95 -100%", "p95(list -3%", "p0 -3%", "cpu -3%", ""]
                .map(|text| text.parse::<Expectation>().unwrap_err().why);
        insta::assert_debug_snapshot!(errors, @r#"
        [
            "a change is missing",
            "the change has no sign",
            "the change has no `%`",
            "the change is not a number",
            "a time cannot change by that much",
            "a parenthesis is not closed",
            "it does not begin with `p50`, `p95`, … or `avg`",
            "it does not begin with `p50`, `p95`, … or `avg`",
            "a change is missing",
        ]
        "#);
        insta::assert_snapshot!("fast -3%".parse::<Expectation>().unwrap_err(), @"`fast -3%` is not an expectation: it does not begin with `p50`, `p95`, … or `avg`. Write `p95 -30%`, or `p95(list) -30%` for one endpoint");
    }
}
