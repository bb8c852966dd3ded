//! What of a script is probably not meant: thresholds that have no values or that always hold, statistics that are read and not
//! computed, virtual users that are too few. Read from its options and the text of its modules, without running it.

use std::collections::BTreeSet;

use evidence::metric::MetricKind;
use workload::nearest::nearest;
use workload::offer::few_vus;

use crate::LoadedScript;
use crate::options::thresholds::{Aggregation, Expression, MetricThresholds, Operator, Threshold};
use crate::options::{DEFAULT_SYSTEM_TAGS, ScenarioShape, TrendStatistic};

/// As requests have them.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Before the name of each group, of groups within groups too.
const GROUP: &str = "::";

/// One sentence for each thing, in the order of thresholds, statistics and scenarios. `texts` are those of the script's modules.
pub fn doubts(loaded: &LoadedScript, texts: &[String]) -> Vec<String> {
    let options = &loaded.options.options;
    let tags = options.tags.iter().flatten().map(|(name, _)| name.as_str()).collect();
    let script = ScriptText { texts, thresholds: &loaded.thresholds, tags };
    let scenarios: Vec<&str> = loaded.options.scenarios.iter().map(|of| of.name.as_str()).collect();
    let mut doubts = Vec::new();
    for of in &loaded.thresholds {
        let empty =
            of.selector.tags.iter().find_map(|(tag, value)| without_values(&script, &scenarios, tag, value));
        doubts.extend(empty.map(|why| format!("threshold `{}` has no values: {why}", of.source)));
        let reversed = of.thresholds.iter().filter_map(|one| reversed(&of.selector.name, one));
        doubts.extend(reversed.map(|why| format!("threshold `{}`: {why}", of.source)));
        let always = of.thresholds.iter().filter_map(|one| Some((&one.source, always(of.kind, one)?)));
        doubts.extend(always.map(|(text, why)| format!("threshold `{}`: `{text}` {why}", of.source)));
    }
    let planned: Option<u64> = loaded.options.scenarios.iter().map(|of| of.executor.iterations()).sum();
    for of in &loaded.thresholds {
        let highest = of.thresholds.iter().filter_map(|one| is_the_highest(one, planned?));
        doubts.extend(highest.map(|why| format!("threshold `{}`: {why}", of.source)));
    }
    doubts.extend(not_computed(&script, &options.trend_statistics()));
    let few_vus = |of: &ScenarioShape| few_vus(&of.name, &of.executor, (of.max_vus, "maxVUs"));
    doubts.extend(loaded.options.offered.iter().filter_map(few_vus));
    doubts
}

/// The text of a script's modules.
struct ScriptText<'a> {
    texts: &'a [String],
    thresholds: &'a [MetricThresholds],
    /// Tags that options set for all.
    tags: BTreeSet<&'a str>,
}

impl ScriptText<'_> {
    fn count(&self, word: &str) -> usize {
        self.texts.iter().map(|text| text.matches(word).count()).sum()
    }

    /// Whether it has this word anywhere but in the thresholds themselves.
    fn says(&self, word: &str) -> bool {
        let sources: BTreeSet<&str> = self.thresholds.iter().map(|of| of.source.as_str()).collect();
        let in_thresholds: usize =
            sources.iter().map(|source| self.count(source) * source.matches(word).count()).sum();
        self.count(word) > in_thresholds
    }

    /// The names of its groups; none where one is not written out.
    fn groups(&self) -> Option<Vec<&str>> {
        let calls = self.texts.iter().flat_map(|text| {
            let calls = text.match_indices("group(");
            let whole =
                |at: usize| !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            calls.filter(move |(at, _)| whole(*at)).map(|(at, call)| quoted(&text[at + call.len()..]))
        });
        calls.collect()
    }
}

/// The text between quotes at the start; none where something else begins.
fn quoted(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|first| ['\'', '"', '`'].contains(first))?;
    let (inner, _) = text[1..].split_once(quote)?;
    (!inner.contains("${")).then_some(inner)
}

/// Why nothing that is measured has this tag with this value; none where something may have.
fn without_values(script: &ScriptText<'_>, scenarios: &[&str], tag: &str, value: &str) -> Option<String> {
    let meant =
        |known: Option<String>| known.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
    match tag {
        "group" => {
            let groups = script.groups()?;
            let last = value.rsplit(GROUP).next().unwrap_or(value);
            if value.starts_with(GROUP) && groups.contains(&last) {
                return None;
            }
            let known = nearest(last, groups).map(|name| format!("{GROUP}{name}"));
            Some(format!("no group is called `{value}`{}", meant(known)))
        }
        "scenario" if !scenarios.contains(&value) => {
            let known = nearest(value, scenarios.iter().copied()).map(str::to_owned);
            Some(format!("no scenario is called `{value}`{}", meant(known)))
        }
        "method" if !METHODS.contains(&value) => {
            let known = nearest(&value.to_uppercase(), METHODS).map(str::to_owned);
            Some(format!("there is no method `{value}`{}", meant(known)))
        }
        "status" if !value.chars().all(|c| c.is_ascii_digit()) => {
            Some(format!("a status is a number such as 200, not `{value}`"))
        }
        "expected_response" if !["true", "false"].contains(&value) => {
            Some("`expected_response` is `true` or `false`".to_owned())
        }
        "name" if !value.contains("://") && !script.says(value) => {
            Some(format!("the script calls no request `{value}`"))
        }
        "check" if !script.says(value) => Some(format!("the script has no check `{value}`")),
        _ if DEFAULT_SYSTEM_TAGS.contains(&tag) || script.tags.contains(tag) => None,
        _ if !script.says(tag) => Some(format!("the script sets no tag `{tag}`")),
        _ if !script.says(value) => Some(format!("the script sets the tag `{tag}` nowhere to `{value}`")),
        _ => None,
    }
}

/// What is said of a threshold that is probably meant otherwise.
fn reversed(metric: &str, threshold: &Threshold) -> Option<String> {
    let Expression { aggregation, operator, bound } = threshold.expression;
    let text = &threshold.source;
    if let Aggregation::Percentile(percent) = aggregation
        && percent > 0.0
        && percent <= 1.0
    {
        return Some(format!(
            "`p({percent})` is the {percent}th of a hundred: write `p({})`",
            (percent * 1e5).round() / 1e3
        ));
    }
    let is_below = matches!(operator, Operator::Less | Operator::LessOrEqual);
    let is_above = matches!(operator, Operator::Greater | Operator::GreaterOrEqual);
    let is_of_times = !matches!(aggregation, Aggregation::Count | Aggregation::Rate)
        && (metric.starts_with("http_req_") || ["iteration_duration", "grpc_req_duration"].contains(&metric));
    match metric {
        "http_req_failed" if is_above => Some(format!("`{text}` requires failures")),
        "http_req_failed" if operator == Operator::Less && bound == 1.0 => {
            Some(format!("`{text}` holds unless every request fails"))
        }
        "checks" if is_below && bound > 0.0 && bound < 1.0 => {
            Some(format!("`{text}` requires checks that fail"))
        }
        _ if is_of_times && is_above => Some(format!("`{text}` requires slow requests")),
        _ if is_of_times && is_below && bound > 0.0 && bound < 1.0 => {
            Some(format!("`{text}` is below a millisecond: times are in milliseconds"))
        }
        _ => None,
    }
}

/// What is said of a percentile that is the highest value of an iteration each; none of others.
fn is_the_highest(threshold: &Threshold, iterations: u64) -> Option<String> {
    let Aggregation::Percentile(percent) = threshold.expression.aggregation else { return None };
    let (text, above) = (&threshold.source, 1.0 - percent / 100.0);
    (percent > 1.0 && iterations as f64 * above < 1.0 - 1e-9).then(|| {
        format!(
            "`{text}` of {iterations} values, one an iteration, is about the highest of them: make at least {} iterations, or take a \
             lower percentile",
            (1.0 / above).round()
        )
    })
}

/// What is said of a threshold on a share that every share satisfies, or none.
fn always(kind: MetricKind, threshold: &Threshold) -> Option<String> {
    let Expression { operator, bound, .. } = threshold.expression;
    let holds = match operator {
        _ if kind != MetricKind::Rate => return None,
        Operator::Less if bound > 1.0 => true,
        Operator::Less if bound <= 0.0 => false,
        Operator::LessOrEqual if bound >= 1.0 => true,
        Operator::LessOrEqual if bound < 0.0 => false,
        Operator::Greater if bound < 0.0 => true,
        Operator::Greater if bound >= 1.0 => false,
        Operator::GreaterOrEqual if bound <= 0.0 => true,
        Operator::GreaterOrEqual if bound > 1.0 => false,
        _ => return None,
    };
    let result = if holds { "always holds" } else { "can never hold" };
    Some(format!("{result}: a rate is a share from 0 to 1"))
}

/// Statistics that the script reads from its summary and that the summary does not have.
fn not_computed(script: &ScriptText<'_>, computed: &[TrendStatistic]) -> Vec<String> {
    let computed: Vec<String> = computed.iter().map(ToString::to_string).collect();
    let mut read = BTreeSet::new();
    for text in script.texts {
        for (at, start) in text.match_indices("values[") {
            read.extend(quoted(&text[at + start.len()..]).filter(|name| name.starts_with("p(")));
        }
    }
    let missing = read.into_iter().filter(|name| !computed.iter().any(|known| known == name));
    let sentence = |name| {
        format!(
            "the script reads `{name}` of its summary, which has {} only: add it to `summaryTrendStats`",
            computed.join(", ")
        )
    };
    missing.map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::options::ThresholdOptions;
    use crate::options::thresholds::{built_in_kind, compile};

    const TEXT: &str = r#"
        import { group } from 'k6';
        export const options = { thresholds: {
            'http_req_duration{group:getData}': ['p(95)<200'], 'http_req_duration{name:cart}': ['p(95)<200'],
            'http_req_failed{scenario:brows}': ['rate<1.5'], 'checks{method:get}': ['rate>=0'],
        } };
        export default function () { group('getData', () => http.get(url, { tags: { name: 'basket' } })); }
        export function handleSummary(data) { return { stdout: `${data.metrics.x.values['p(99)']} ${data.y.values["p(95)"]}` }; }
    "#;

    fn thresholds(all: &[(&str, &str)]) -> Vec<MetricThresholds> {
        let one = |text: &str| ThresholdOptions { threshold: text.to_owned(), ..ThresholdOptions::default() };
        let all: BTreeMap<String, Vec<ThresholdOptions>> =
            all.iter().map(|(metric, text)| ((*metric).to_owned(), vec![one(text)])).collect();
        compile(&all, built_in_kind).unwrap()
    }

    #[test]
    fn thresholds_without_values_say_what_was_probably_meant() {
        let thresholds = thresholds(&[
            ("http_req_duration{group:getData}", "p(95)<200"),
            ("http_req_duration{name:cart}", "p(95)<200"),
        ]);
        let texts = [TEXT.to_owned()];
        let script = ScriptText { texts: &texts, thresholds: &thresholds, tags: BTreeSet::new() };
        let without = |tag, value| without_values(&script, &["browse"], tag, value);
        assert_eq!(
            without("group", "getData").unwrap(),
            "no group is called `getData`; did you mean `::getData`?"
        );
        assert_eq!(without("group", "::getData"), None);
        assert_eq!(
            without("scenario", "brows").unwrap(),
            "no scenario is called `brows`; did you mean `browse`?"
        );
        assert_eq!(without("name", "cart").unwrap(), "the script calls no request `cart`");
        assert_eq!(without("name", "basket"), None);
        assert_eq!(without("method", "get").unwrap(), "there is no method `get`; did you mean `GET`?");
        assert_eq!(without("status", "200"), None);
        let texts = ["http.get(url, { tags: { tier: 'gold' } })".to_owned()];
        let script = ScriptText { texts: &texts, thresholds: &[], tags: BTreeSet::from(["env"]) };
        let without = |tag, value| without_values(&script, &[], tag, value);
        assert_eq!(without("tier", "silver").unwrap(), "the script sets the tag `tier` nowhere to `silver`");
        assert_eq!([without("tier", "gold"), without("env", "prod")], [None, None]);
    }

    #[test]
    fn a_percentile_of_fewer_values_than_it_divides_is_the_highest() {
        let doubt = |text: &str, iterations| {
            let of = thresholds(&[("http_req_duration", text)]).remove(0);
            is_the_highest(&of.thresholds[0], iterations)
        };
        let said = doubt("p(99.9)<200", 20).unwrap();
        assert!(said.contains("of 20 values") && said.contains("make at least 1000 iterations"), "{said}");
        assert_eq!(
            [doubt("p(99.9)<200", 1_000), doubt("p(95)<200", 20), doubt("med<200", 1)],
            [const { None }; 3]
        );
    }

    #[test]
    fn a_group_whose_name_is_computed_may_be_any() {
        let texts = ["group(`step ${n}`, () => {}); group('a', f); regroup(x)".to_owned()];
        let script = ScriptText { texts: &texts, thresholds: &[], tags: BTreeSet::new() };
        assert_eq!(without_values(&script, &[], "group", "::zzz"), None);
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        let doubt = |text| {
            let of = thresholds(&[("http_req_failed", text)]).remove(0);
            always(of.kind, &of.thresholds[0])
        };
        assert_eq!(doubt("rate<1.5").unwrap(), "always holds: a rate is a share from 0 to 1");
        assert_eq!(doubt("rate>1").unwrap(), "can never hold: a rate is a share from 0 to 1");
        assert_eq!(
            [doubt("rate<0.01"), doubt("rate<=0"), doubt("rate==0"), doubt("rate<1")],
            [const { None }; 4]
        );
    }

    #[test]
    fn thresholds_that_are_probably_meant_otherwise() {
        let doubt = |metric, text| {
            let of = thresholds(&[(metric, text)]).remove(0);
            reversed(metric, &of.thresholds[0])
        };
        for (metric, text, said) in [
            ("http_req_duration", "p(0.95)<500", "`p(0.95)` is the 0.95th of a hundred: write `p(95)`"),
            ("http_req_duration", "p(95)>500", "`p(95)>500` requires slow requests"),
            (
                "http_req_duration",
                "p(95)<0.5",
                "`p(95)<0.5` is below a millisecond: times are in milliseconds",
            ),
            ("http_req_failed", "rate>0.01", "`rate>0.01` requires failures"),
            ("http_req_failed", "rate<1", "`rate<1` holds unless every request fails"),
            ("checks", "rate<0.95", "`rate<0.95` requires checks that fail"),
        ] {
            assert_eq!(doubt(metric, text).as_deref(), Some(said));
        }
        for (metric, text) in [
            ("http_req_duration", "p(95)<500"),
            ("http_req_failed", "rate<0.01"),
            ("checks", "rate>0.95"),
            ("http_reqs", "count>100"),
        ] {
            assert_eq!(doubt(metric, text), None, "{metric} {text}");
        }
    }

    #[test]
    fn a_statistic_that_is_read_must_be_computed() {
        let texts = [TEXT.to_owned()];
        let script = ScriptText { texts: &texts, thresholds: &[], tags: BTreeSet::new() };
        let missing = not_computed(&script, &TrendStatistic::defaults());
        assert_eq!(missing.len(), 1);
        assert!(
            missing[0].starts_with("the script reads `p(99)` of its summary, which has avg, min"),
            "{}",
            missing[0]
        );
    }
}
