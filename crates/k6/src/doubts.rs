//! What of a script is probably not meant: thresholds that have no values or that always hold, statistics that are read and not
//! computed, virtual users that are too few. Read from its options and the text of its modules, without running it.

use std::collections::BTreeSet;

use evidence::metric::MetricKind;
use workload::model::Executor;
use workload::nearest::nearest;

use crate::LoadedScript;
use crate::options::thresholds::{Expression, MetricThresholds, Operator, Threshold};
use crate::options::{ScenarioShape, TrendStatistic};

/// Before the name of each group, of groups within groups too.
const GROUP: &str = "::";

/// One sentence for each thing, in the order of thresholds, statistics and scenarios. `texts` are those of the script's modules.
pub fn doubts(loaded: &LoadedScript, texts: &[String]) -> Vec<String> {
    let options = &loaded.options.options;
    let script = ScriptText { texts, thresholds: &loaded.thresholds };
    let scenarios: Vec<&str> = loaded.options.scenarios.iter().map(|of| of.name.as_str()).collect();
    let mut doubts = Vec::new();
    for of in &loaded.thresholds {
        let empty =
            of.selector.tags.iter().find_map(|(tag, value)| without_values(&script, &scenarios, tag, value));
        doubts.extend(empty.map(|why| format!("threshold `{}` has no values: {why}", of.source)));
        let always = of.thresholds.iter().filter_map(|one| Some((&one.source, always(of.kind, one)?)));
        doubts.extend(always.map(|(text, why)| format!("threshold `{}`: `{text}` {why}", of.source)));
    }
    doubts.extend(not_computed(&script, &options.trend_statistics()));
    doubts.extend(loaded.options.offered.iter().filter_map(time_for_iterations));
    doubts
}

/// The text of a script's modules.
struct ScriptText<'a> {
    texts: &'a [String],
    thresholds: &'a [MetricThresholds],
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
        "method" if value != value.to_uppercase() => {
            Some(format!("methods are in capitals: write `method:{}`", value.to_uppercase()))
        }
        "expected_response" if !["true", "false"].contains(&value) => {
            Some("`expected_response` is `true` or `false`".to_owned())
        }
        "name" if !value.contains("://") && !script.says(value) => {
            Some(format!("the script calls no request `{value}`"))
        }
        _ => None,
    }
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

/// How long iterations may take on average at the highest rate, so that the virtual users suffice (Little's law).
fn time_for_iterations(scenario: &ScenarioShape) -> Option<String> {
    let most = match &scenario.executor {
        Executor::ConstantArrivalRate { rate, .. } => *rate,
        Executor::RampingArrivalRate { start_rate, stages } => {
            stages.iter().map(|stage| stage.to).fold(*start_rate, f64::max)
        }
        _ => return None,
    };
    let seconds = f64::from(scenario.max_vus) / most;
    (most > 0.0 && seconds < 1.0).then(|| {
        format!(
            "`{}`: {} virtual users offer {} iterations a second only while an iteration takes less than {:.0} ms on average; \
             what is due beyond that is dropped (`maxVUs`)",
            scenario.name,
            scenario.max_vus,
            (most * 100.0).round() / 100.0,
            seconds * 1e3
        )
    })
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
        let script = ScriptText { texts: &texts, thresholds: &thresholds };
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
        assert_eq!(without("method", "get").unwrap(), "methods are in capitals: write `method:GET`");
        assert_eq!(without("status", "200"), None);
    }

    #[test]
    fn a_group_whose_name_is_computed_may_be_any() {
        let texts = ["group(`step ${n}`, () => {}); group('a', f); regroup(x)".to_owned()];
        let script = ScriptText { texts: &texts, thresholds: &[] };
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
    fn a_statistic_that_is_read_must_be_computed() {
        let texts = [TEXT.to_owned()];
        let script = ScriptText { texts: &texts, thresholds: &[] };
        let missing = not_computed(&script, &TrendStatistic::defaults());
        assert_eq!(missing.len(), 1);
        assert!(
            missing[0].starts_with("the script reads `p(99)` of its summary, which has avg, min"),
            "{}",
            missing[0]
        );
    }
}
