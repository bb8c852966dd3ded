//! Which observations a threshold is about: a metric, and tags.

use std::collections::BTreeMap;

/// A metric, and the tags that its observations must have: `http_req_duration{status:200}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricSelector {
    pub name: String,
    /// Tags and their values; empty for all observations.
    pub tags: BTreeMap<String, String>,
}

impl MetricSelector {
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<MetricSelector, String> {
        let Some((name, rest)) = text.split_once('{') else {
            return match text.contains('}') {
                true => Err("has a closing brace and no opening one".to_owned()),
                false => Ok(MetricSelector { name: text.to_owned(), tags: BTreeMap::new() }),
            };
        };
        let pairs = rest.strip_suffix('}').ok_or("must end with a closing brace")?;
        let tags = pairs.split(',').map(tag).collect::<Result<_, _>>()?;
        Ok(MetricSelector { name: name.to_owned(), tags })
    }

    /// Whether an observation with these tags is one of them.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.tags.iter().all(|(name, value)| value_of(name) == Some(value.as_str()))
    }
}

/// `name:value`, each with or without quotes. A value has colons, and no comma.
fn tag(text: &str) -> Result<(String, String), String> {
    let malformed = || format!("{text:?} is not a tag such as \"status:200\"");
    let (name, value) = text.split_once(':').ok_or_else(malformed)?;
    let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let (name, is_empty) = (plain(name), value.trim().is_empty());
    // k6 reads a tag without a name and crashes.
    if name.is_empty() || is_empty {
        return Err(malformed());
    }
    Ok((name, plain(value)))
}
