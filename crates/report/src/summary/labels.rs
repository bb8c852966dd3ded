//! What endpoints are called in tables and plots.

use std::collections::{BTreeMap, BTreeSet};

use evidence::key::Name;

const WHOLE_ITERATION: &str = "(whole iteration)";

#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// The scenarios that have an endpoint, by the endpoint's name.
    scenarios: BTreeMap<Name, BTreeSet<Name>>,
    /// The origins of endpoints that are named by URL.
    origins: BTreeSet<String>,
}

impl Labels {
    pub(crate) fn add(&mut self, scenario: &Name, endpoint: &Name) {
        self.origins.extend(split_url(endpoint).map(|(origin, _)| origin.to_owned()));
        self.scenarios.entry(endpoint.clone()).or_default().insert(scenario.clone());
    }

    /// The endpoint's name, with its scenario's where several scenarios of the run have an endpoint of that name. Whole
    /// iterations are named after their scenario as soon as there are two. Endpoints that are named by URL, all of one
    /// origin, are called by the rest of it.
    pub(crate) fn of(&self, scenario: &str, endpoint: &str) -> String {
        if endpoint.is_empty() {
            let all: BTreeSet<&Name> = self.scenarios.values().flatten().collect();
            return label(scenario, WHOLE_ITERATION, all.len());
        }
        label(scenario, self.without_origin(endpoint), self.scenarios.get(endpoint).map_or(0, BTreeSet::len))
    }
}

impl Labels {
    /// The endpoint's name; where those that are named by URL are all of one origin, the rest of it.
    pub(crate) fn without_origin<'a>(&self, endpoint: &'a str) -> &'a str {
        let path = split_url(endpoint).map(|(_, path)| path);
        path.filter(|path| self.origins.len() == 1 && !path.is_empty()).unwrap_or(endpoint)
    }
}

/// The origin of a URL, and what follows it; none where the text is not a URL.
fn split_url(text: &str) -> Option<(&str, &str)> {
    let begin = text.find("://")? + "://".len();
    let is_scheme =
        text[..begin].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.:/".contains(&byte));
    let end = text[begin..].find(['/', '?', '#']).map_or(text.len(), |at| begin + at);
    is_scheme.then(|| text.split_at(end))
}

fn label(scenario: &str, name: &str, scenarios: usize) -> String {
    if scenarios > 1 { format!("{scenario} / {name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(endpoints: &[&str]) -> Vec<String> {
        let mut labels = Labels::default();
        endpoints.iter().for_each(|name| labels.add(&Name::from("default"), &Name::from(*name)));
        endpoints.iter().map(|name| labels.of("default", name)).collect()
    }

    #[test]
    fn urls_of_one_origin_are_called_by_their_paths() {
        let one = ["http://127.0.0.1:8000/shop/good", "http://127.0.0.1:8000/shop/bad?x=1", "login", ""];
        assert_eq!(labels(&one), ["/shop/good", "/shop/bad?x=1", "login", "(whole iteration)"]);
        assert_eq!(labels(&["http://a/x"]), ["/x"]);
        assert_eq!(labels(&["http://a"]), ["http://a"], "there is no path");
        let two = ["http://a/x", "https://a/x"];
        assert_eq!(labels(&two), two, "of two origins");
        assert_eq!(labels(&["see http://a/x"]), ["see http://a/x"], "not a URL");
    }
}
