//! Whether a node is what a selector says.

use std::cell::Cell;

use super::{
    Among, AttributeTest, Case, Combinator, Compound, Condition, End, Operator, Selector, SelectorGroup,
    TextOf,
};
use crate::html::tree::{Content, Document, Element, NodeId};

/// What selectors are matched in, and how many more nodes may be looked at for it: documents are a server's, and some selectors look
/// at each node for each other one.
pub(crate) struct Matching<'d> {
    document: &'d Document,
    steps_left: Cell<u64>,
}

impl<'d> Matching<'d> {
    pub(crate) fn new(document: &'d Document, steps: u64) -> Matching<'d> {
        Matching { document, steps_left: Cell::new(steps) }
    }

    /// Whether it ended before all was looked at.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }

    fn spend(&self, steps: usize) -> bool {
        self.steps_left.set(self.steps_left.get().saturating_sub(steps as u64));
        self.steps_left.get() > 0
    }

    pub(crate) fn group(&self, group: &SelectorGroup, node: NodeId) -> bool {
        group.0.iter().any(|selector| self.selector(selector, node))
    }

    fn selector(&self, selector: &Selector, node: NodeId) -> bool {
        self.compound(&selector.subject, node) && self.before(&selector.before, node)
    }

    /// Whether what must be above or before a node is.
    fn before(&self, before: &[(Compound, Combinator)], node: NodeId) -> bool {
        let Some(((compound, combinator), rest)) = before.split_last() else { return true };
        let is_it =
            |other: NodeId| self.spend(1) && self.compound(compound, other) && self.before(rest, other);
        let document = self.document;
        match combinator {
            Combinator::Descendant => document.ancestors(node).any(is_it),
            Combinator::Child => document.parent(node).is_some_and(is_it),
            Combinator::LaterSibling => document.earlier_siblings(node).any(is_it),
            Combinator::NextSibling => {
                let is_skipped = |other: &NodeId| {
                    matches!(document.content(*other), Content::Text(_) | Content::Comment(_))
                };
                document.earlier_siblings(node).find(|other| !is_skipped(other)).is_some_and(is_it)
            }
        }
    }

    fn compound(&self, compound: &Compound, node: NodeId) -> bool {
        self.spend(1)
            && match compound.0.as_slice() {
                [] => self.document.element(node).is_some(),
                conditions => conditions.iter().all(|condition| self.condition(condition, node)),
            }
    }

    fn condition(&self, condition: &Condition, node: NodeId) -> bool {
        match condition {
            Condition::Contains { text, of } => self.text(node, *of).to_lowercase().contains(text.as_str()),
            Condition::Matches { regex, of } => regex.is_match(&self.text(node, *of)),
            Condition::Language(language) => self.has_language(node, language),
            Condition::Never => false,
            _ => match self.document.element(node) {
                Some(element) => self.element(condition, node, element),
                None => false,
            },
        }
    }

    /// What only elements can be.
    fn element(&self, condition: &Condition, node: NodeId, element: &Element) -> bool {
        let name = element.name();
        let has = |attribute: &str| element.attribute(attribute).is_some();
        match condition {
            Condition::Tag(tag) => name == tag,
            Condition::Id(id) => element.attribute("id") == Some(id),
            Condition::Class(class) => {
                element.attribute("class").is_some_and(|all| has_word(all, class, Case::Sensitive))
            }
            Condition::Attribute { name, test } => attribute(element, name, test),
            Condition::Not(group) => !self.group(group, node),
            Condition::Has(group) => {
                self.document.descendants(node).any(|within| self.spend(1) && self.group(group, within))
            }
            Condition::HasChild(group) => self.document.children(node).any(|child| self.group(group, child)),
            Condition::Nth { step, offset, from, among } => {
                let place = self.place(node, element, *from, *among);
                let after = place - offset;
                if *step == 0 { after == 0 } else { after % step == 0 && after / step >= 0 }
            }
            Condition::Only(among) => {
                self.place(node, element, End::First, *among) == 1
                    && self.place(node, element, End::Last, *among) == 1
            }
            Condition::Input => matches!(name, "input" | "select" | "textarea" | "button"),
            Condition::Empty => {
                self.document.children(node).all(|child| match self.document.content(child) {
                    Content::Element(_) => false,
                    Content::Text(text) => text.trim().is_empty(),
                    _ => true,
                })
            }
            Condition::Root => self.document.parent(node) == Some(NodeId::ROOT),
            Condition::Link => matches!(name, "a" | "area" | "link") && has("href"),
            Condition::Enabled => match name {
                "a" | "area" | "link" => has("href"),
                "optgroup" | "menuitem" | "fieldset" => !has("disabled"),
                _ => is_control(name) && !has("disabled") && !self.is_in_disabled(node),
            },
            Condition::Disabled => match name {
                "optgroup" | "menuitem" | "fieldset" => has("disabled"),
                _ => is_control(name) && (has("disabled") || self.is_in_disabled(node)),
            },
            Condition::Checked => match name {
                "input" | "menuitem" => {
                    let kind = element.attribute("type").unwrap_or_default().to_ascii_lowercase();
                    has("checked") && matches!(kind.as_str(), "checkbox" | "radio")
                }
                "option" => has("selected"),
                _ => false,
            },
            Condition::Contains { .. }
            | Condition::Matches { .. }
            | Condition::Language(_)
            | Condition::Never => false,
        }
    }

    fn text(&self, node: NodeId, of: TextOf) -> String {
        let document = self.document;
        let text = match (document.content(node), of) {
            (Content::Text(text), TextOf::AllWithin) => text.clone(),
            (Content::Element(_), TextOf::AllWithin) => document.text(node),
            (Content::Element(_), TextOf::Itself) => {
                let own = document.children(node).filter_map(|child| match document.content(child) {
                    Content::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                own.collect()
            }
            _ => String::new(),
        };
        self.spend(text.len());
        text
    }

    /// Which one an element is among its siblings, from 1.
    fn place(&self, node: NodeId, element: &Element, from: End, among: Among) -> i64 {
        let is_counted = |sibling: &NodeId| {
            let sibling = self.document.element(*sibling);
            sibling.is_some_and(|other| among == Among::All || other.name() == element.name())
        };
        let is_in_time = |_: &NodeId| self.spend(1);
        let count = match from {
            End::First => {
                self.document.earlier_siblings(node).take_while(is_in_time).filter(is_counted).count()
            }
            End::Last => self.document.later_siblings(node).take_while(is_in_time).filter(is_counted).count(),
        };
        count as i64 + 1
    }

    fn has_language(&self, node: NodeId, language: &str) -> bool {
        let is_own = |node: NodeId| {
            let own = self.document.element(node).and_then(|element| element.attribute("lang"));
            own.and_then(|own| own.strip_prefix(language))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        is_own(node) || self.document.ancestors(node).any(is_own)
    }

    fn is_in_disabled(&self, node: NodeId) -> bool {
        let is_legend =
            |node: NodeId| self.document.element(node).is_some_and(|other| other.name() == "legend");
        let mut within = node;
        self.document.ancestors(node).any(|above| {
            let is_disabled = self.document.element(above).is_some_and(|element| {
                element.name() == "fieldset" && element.attribute("disabled").is_some()
            });
            let is_exempt = is_legend(within) && !self.document.earlier_siblings(within).any(is_legend);
            within = above;
            is_disabled && !is_exempt
        })
    }
}

fn is_control(name: &str) -> bool {
    matches!(name, "button" | "input" | "select" | "textarea" | "option")
}

fn attribute(element: &Element, name: &str, test: &AttributeTest) -> bool {
    let mut values = element
        .attributes
        .iter()
        .filter(|attribute| &*attribute.name == name)
        .map(|found| found.value.as_str());
    match test {
        AttributeTest::Exists => values.next().is_some(),
        AttributeTest::Matches(regex) => values.any(|value| regex.is_match(value)),
        AttributeTest::Compared { operator: Operator::Differs, value, case } => {
            !values.any(|found| is_equal(found, value, *case))
        }
        AttributeTest::Compared { operator, value, case } => {
            values.any(|found| is_as_compared(found, *operator, value, *case))
        }
    }
}

fn is_as_compared(found: &str, operator: Operator, value: &str, case: Case) -> bool {
    if matches!(operator, Operator::StartsWith | Operator::EndsWith | Operator::Contains) {
        let lowered =
            |text: &str| if case == Case::Insensitive { text.to_lowercase() } else { text.to_owned() };
        let (text, part) = (lowered(found), lowered(value));
        return !found.trim().is_empty()
            && match operator {
                Operator::StartsWith => text.starts_with(&part),
                Operator::EndsWith => text.ends_with(&part),
                _ => text.contains(&part),
            };
    }
    match operator {
        Operator::HasWord => has_word(found, value, case),
        Operator::HasPrefixOrIs => {
            is_equal(found, value, case)
                || found
                    .split_at_checked(value.len())
                    .is_some_and(|(start, rest)| is_equal(start, value, case) && rest.starts_with('-'))
        }
        _ => is_equal(found, value, case),
    }
}

fn is_equal(found: &str, value: &str, case: Case) -> bool {
    found == value || case == Case::Insensitive && found.to_lowercase() == value.to_lowercase()
}

fn has_word(all: &str, word: &str, case: Case) -> bool {
    // What ends the last word is not followed by an empty one.
    let all = all.strip_suffix([' ', '\t', '\r', '\n', '\x0c']).unwrap_or(all);
    !all.is_empty() && all.split([' ', '\t', '\r', '\n', '\x0c']).any(|part| is_equal(part, word, case))
}
