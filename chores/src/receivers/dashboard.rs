//! The dashboard for Grafana: its queries, with the variables that Grafana fills.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

pub(super) const FILE: &str = "docs/grafana/plimsoll.json";

/// What Grafana puts in where a graph has a point each second.
const RATE_INTERVAL: &str = "10s";

/// A query and the place that it is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) of: String,
    pub(super) text: String,
}

/// The queries of the panels and of the variables of the dashboard in this repository.
///
/// # Errors
/// When it cannot be read, or uses a variable that it does not have.
pub(super) fn queries(root: &Path, run: &str) -> Result<Vec<Query>> {
    let text = std::fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    queries_of(&serde_json::from_str(&text).with_context(|| format!("{FILE} is not JSON"))?, run)
}

fn queries_of(dashboard: &Value, run: &str) -> Result<Vec<Query>> {
    let variables = list(&dashboard["templating"]["list"]);
    let mut values = vec![("$__rate_interval".to_owned(), RATE_INTERVAL.to_owned())];
    for variable in variables {
        let name = text(&variable["name"]);
        let value = variable["allValue"].as_str().unwrap_or(run);
        values.push((format!("${name}"), value.to_owned()));
    }
    let fill = |query: &str| {
        let filled =
            values.iter().fold(query.to_owned(), |query, (variable, value)| query.replace(variable, value));
        ensure!(!filled.contains('$'), "a variable is not known: {filled}");
        Ok(filled)
    };
    let mut queries = Vec::new();
    for variable in variables.iter().filter(|variable| variable["type"] == "query") {
        let (name, query) = (text(&variable["name"]), text(&variable["query"]["query"]));
        let inner = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
        let (series, label) =
            inner.and_then(|inner| inner.rsplit_once(", ")).with_context(|| query.to_owned())?;
        // Grafana asks for the values of the label; here they are counted.
        let counted = fill(&format!("count by ({label}) ({series})"))?;
        queries.push(Query { of: format!("the variable {name}"), text: counted });
    }
    for panel in list(&dashboard["panels"]) {
        for target in list(&panel["targets"]) {
            let query = fill(text(&target["expr"]))?;
            queries.push(Query { of: text(&panel["title"]).to_owned(), text: query });
        }
    }
    ensure!(!queries.is_empty(), "{FILE} has no queries");
    Ok(queries)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn variables_are_filled_in_and_unknown_ones_are_errors() {
        let dashboard = |expr: &str| {
            serde_json::json!({
                "templating": {"list": [
                    {"name": "run", "type": "query", "query": {"query": "label_values(x{a=\"b\"}, run)"}},
                    {"name": "endpoint", "type": "custom", "allValue": ".*"},
                ]},
                "panels": [{"title": "rate", "targets": [{"expr": expr}]}],
            })
        };
        let query = |of: &str, text: &str| Query { of: of.to_owned(), text: text.to_owned() };
        let read = queries_of(&dashboard("rate(x{r=~\"$run\", e=~\"$endpoint\"}[$__rate_interval])"), "plan");
        let expected = [
            query("the variable run", "count by (run) (x{a=\"b\"})"),
            query("rate", "rate(x{r=~\"plan\", e=~\".*\"}[10s])"),
        ];
        assert_eq!(read.expect("it is a dashboard"), expected);
        assert!(queries_of(&dashboard("x{r=\"$other\"}"), "plan").is_err());
    }

    /// Whether they have data is asked of a real Prometheus, by `cargo xtask receivers`.
    #[test]
    fn the_dashboard_asks_for_documented_series_alone() {
        let docs = std::fs::read_to_string(root().join("docs/live-outputs.md")).expect("the page is there");
        let is_documented = |name: &str| {
            let family = ["_bucket", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            let short = family.strip_prefix("plimsoll").unwrap_or(family);
            docs.contains(&format!("`{family}`")) || docs.contains(&format!("`…{short}`"))
        };
        let queries = queries(root(), "plan").expect("it is a dashboard");
        let is_of_name = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let names: BTreeSet<&str> = queries
            .iter()
            .flat_map(|query| query.text.split(is_of_name))
            .filter(|word| word.starts_with("plimsoll_"))
            .collect();
        assert!(names.len() > 10, "{names:?}");
        let unknown: Vec<_> = names.into_iter().filter(|name| !is_documented(name)).collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }
}
