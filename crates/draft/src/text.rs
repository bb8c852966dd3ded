//! Texts of a drafted plan: what was recorded, literally, and values in between. Templates are made of them when the plan is
//! written, and nowhere else, so that no text of a source is ever read as a template.

use workload::template::{Part, Template, Value, push_json_escaped};

use crate::url::encoded;

/// A text of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    /// Never two literals in a row, never an empty one.
    parts: Vec<Part>,
}

impl Text {
    /// What a source says, as it is.
    pub(crate) fn literal(text: &str) -> Text {
        let mut all = Text::default();
        all.push_literal(text);
        all
    }

    pub(crate) fn value(value: Value) -> Text {
        Text { parts: vec![Part::Value(value)] }
    }

    /// The environment variable `name`.
    pub(crate) fn env(name: &str) -> Text {
        Text::value(Value::Env(name.to_owned()))
    }

    /// The value `name` that an earlier step has extracted.
    pub(crate) fn variable(name: &str) -> Text {
        Text::value(Value::Variable(name.to_owned()))
    }

    /// The text of a template that the user of the tool has written.
    pub(crate) fn of_template(template: &Template) -> Text {
        Text { parts: template.parts().to_vec() }
    }

    pub(crate) fn push_literal(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Literal(before)) => before.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    pub(crate) fn push(&mut self, more: &Text) {
        for part in &more.parts {
            match part {
                Part::Literal(text) => self.push_literal(text),
                value => self.parts.push(value.clone()),
            }
        }
    }

    /// It and then a literal text.
    pub(crate) fn and(mut self, text: &str) -> Text {
        self.push_literal(text);
        self
    }

    /// It and then another text.
    pub(crate) fn then(mut self, more: &Text) -> Text {
        self.push(more);
        self
    }

    pub(crate) fn joined(texts: &[Text], separator: &str) -> Text {
        let mut all = Text::default();
        for (index, text) in texts.iter().enumerate() {
            all.push_literal(if index > 0 { separator } else { "" });
            all.push(text);
        }
        all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(Part::value)
    }

    /// It with every literal text changed, and every value written in another way.
    fn mapped(&self, literal: impl Fn(&str) -> String, value: impl Fn(Value) -> Part) -> Text {
        let mut all = Text::default();
        for part in &self.parts {
            match part {
                Part::Literal(text) => all.push_literal(&literal(text)),
                Part::Value(inner) => all.parts.push(value(inner.clone())),
                other => all.parts.push(other.clone()),
            }
        }
        all
    }

    /// It within the quotes of a JSON string.
    pub(crate) fn in_json(&self) -> Text {
        self.mapped(json_escaped, Part::JsonValue)
    }

    /// It within a URL or a form.
    pub(crate) fn in_url(&self) -> Text {
        self.mapped(encoded, url_value)
    }

    /// It within a URL as a literal text of which only `kept` is not encoded.
    pub(crate) fn in_url_except(&self, kept: &[char]) -> Text {
        let literal = |text: &str| {
            let parts = text.split_inclusive(kept).map(|part| match part.chars().last() {
                Some(last) if kept.contains(&last) => {
                    format!("{}{last}", encoded(&part[..part.len() - last.len_utf8()]))
                }
                _ => encoded(part),
            });
            parts.collect()
        };
        self.mapped(literal, url_value)
    }

    /// It without the characters that no header contains.
    pub(crate) fn in_header(&self) -> Text {
        self.mapped(|text| text.chars().filter(|c| !c.is_control()).collect(), Part::Value)
    }

    /// The template that gives it.
    pub(crate) fn source(&self) -> String {
        let mut out = String::new();
        let mut rest = self.parts.iter().peekable();
        while let Some(part) = rest.next() {
            let Part::Literal(text) = part else {
                out.push_str(&part.source());
                continue;
            };
            // A `$` before a value would make an escape of it, so it is written as a value, too.
            let kept = if rest.peek().is_some() { text.trim_end_matches('$') } else { text };
            out.push_str(&Part::Literal(kept.to_owned()).source());
            let dollars = &text[kept.len()..];
            if !dollars.is_empty() {
                out.push_str(&Part::Value(Value::Choice(vec![dollars.to_owned()])).source());
            }
        }
        out
    }
}

/// A value within a URL; one that has only unreserved characters needs no encoding.
fn url_value(value: Value) -> Part {
    match value {
        Value::Uuid => Part::Value(Value::Uuid),
        other => Part::UrlValue(other),
    }
}

pub(crate) fn json_escaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    push_json_escaped(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// What a template sends, with its values named: equal for all templates of the same text.
pub(crate) fn normal(parts: &[Part]) -> Vec<Part> {
    let mut all = Text::default();
    for part in parts {
        match part {
            Part::Value(Value::Choice(texts)) if texts.len() == 1 => all.push_literal(&texts[0]),
            part => all.push(&Text { parts: vec![part.clone()] }),
        }
    }
    all.parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn is_read_back(text: &Text) {
        let template = Template::parse(&text.source()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(normal(template.parts()), text.parts, "{}", text.source());
    }

    #[test]
    fn dollars_before_values_are_no_escapes() {
        for before in ["$", "$$", "a$", "${", "$${env.HOME}$"] {
            is_read_back(&Text::literal(before).then(&Text::value(Value::Uuid)));
        }
        is_read_back(&Text::literal("a$").and("{env.HOME}"));
    }

    #[test]
    fn a_text_is_written_into_json_and_urls_as_they_have_it() {
        let text = Text::literal("a \"b\"&").then(&Text::env("X"));
        assert_eq!(text.in_json().source(), "a \\\"b\\\"&${env.X | json}");
        assert_eq!(text.in_url().source(), "a%20%22b%22%26${env.X | url}");
        assert_eq!(Text::literal("a,b c").in_url_except(&[',']).source(), "a,b%20c");
    }

    proptest! {
        #[test]
        fn every_text_is_read_back(texts in proptest::collection::vec("[${}a-b.| ()\"\\\\]{0,8}", 0..5)) {
            let mut all = Text::default();
            for text in &texts {
                all = all.and(text).then(&Text::env("A"));
            }
            is_read_back(&all);
            is_read_back(&Text::joined(&texts.iter().map(|text| Text::literal(text)).collect::<Vec<_>>(), "$"));
        }
    }
}
