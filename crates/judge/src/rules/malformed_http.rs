//! T8: responses that are not in the form of HTTP's standards.

use std::collections::BTreeMap;

use evidence::{Finding, Name, RuleId, Scope, Severity};
use figures::Row;

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T8,
    title: "malformed-http",
    severity: Severity::Caution,
    tests: "Responses that depart from the standards of HTTP in a way that clients understand all the same: both `content-length` and \
            `transfer-encoding`, a `transfer-encoding` in HTTP/1.0, blanks around the name of a header or inside it, a header that continues \
            on the next line, status 101 that was not asked for, over HTTP/2 blanks around a value. Those that cannot be understood have the \
            outcome `protocol`.",
    affects: "nothing directly: the responses count as what they say",
    why: "The server's HTTP is malformed. Another client, a proxy or a firewall may refuse such a response or read it in another way; \
          where they may find another end of its body, the connection was closed after it, which costs the server a connection a response.",
    next: "Mend what writes the header, often an old framework, a CGI program or a proxy that adds headers.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&Name, u64> = BTreeMap::new();
    let mut begun = 0;
    for row in facts.figures.endpoints().filter(|row| !row.deviations.is_empty()) {
        begun += row.begun();
        for (name, count) in &row.deviations {
            *by_name.entry(name).or_default() += count;
        }
    }
    if by_name.is_empty() {
        return Vec::new();
    }
    let mut named: Vec<(&Name, u64)> = by_name.into_iter().collect();
    named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words: Vec<String> =
        named.iter().map(|(name, count)| format!("{} {}", brief::count(*count), in_words(name))).collect();
    let what = format!(
        "The server's HTTP is malformed: of {} responses of {}, {}.",
        brief::count(begun),
        concerned(facts),
        words.join("; ")
    );
    let figures: Vec<(&str, f64, &str)> =
        named.iter().map(|(name, count)| (&***name, *count as f64, "1")).collect();
    vec![with_figures(RULE.finding(Severity::Caution, Scope::default(), what), &figures)]
}

/// The endpoints whose responses are meant.
fn concerned(facts: &Facts<'_>) -> String {
    let concerned = facts.figures.endpoints().filter(|row| !row.deviations.is_empty());
    let mut names: Vec<&str> = concerned.map(|row: &Row| &*row.key.endpoint).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [one] => format!("`{one}`"),
        _ => format!("{} endpoints", brief::count(names.len() as u64)),
    }
}

fn in_words(name: &str) -> &str {
    match name {
        "length-and-chunked" => "have both `content-length` and `transfer-encoding`",
        "chunked-in-http-1.0" => "have a `transfer-encoding` in HTTP/1.0",
        "blank-before-colon" => "have blanks between a header's name and its colon",
        "blank-in-name" => "have a blank in a header's name, which was left out",
        "folded-field" => "have a header that continues on the next line",
        "switch-unasked" => "have status 101, though no other protocol was asked for",
        "blank-around-value" => "have blanks around a header's value over HTTP/2",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use evidence::{Key, Metric};

    use crate::testing::{Load, TestRun};

    fn with_deviations(deviations: &[(&str, u64)]) -> TestRun {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", "p95(list) < 50ms");
        for (name, count) in deviations {
            let key = Key::of(Metric::Deviations).scenario("play").phase("steady").endpoint("list");
            test_run.run.add(&key.tag(Key::DEVIATION, name), 20, *count);
        }
        test_run
    }

    #[test]
    fn malformed_http_is_one_caution_that_names_what_departs_from_the_standards() {
        let run = with_deviations(&[("folded-field", 17), ("length-and-chunked", 6_000), ("later", 1)]);
        insta::assert_snapshot!(run.findings(super::check), @r"
        caution [] The server's HTTP is malformed: of 6,000 responses of `list`, 6,000 have both `content-length` and `transfer-encoding`; 17 have a header that continues on the next line; 1 later.
          length-and-chunked Some(6000.0) 1, folded-field Some(17.0) 1, later Some(1.0) 1
        ");
        assert!(run.verdict().contains("PASS fast"), "{}", run.verdict());
        assert_eq!(with_deviations(&[]).findings(super::check), "nothing");
    }
}
