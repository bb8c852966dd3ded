//! The nodes that lie around others, and those that selectors match: what `goquery` finds.

use std::collections::HashSet;

use super::selector::{Matching, SelectorGroup};
use super::tree::{Document, NodeId};

/// So many nodes may be looked at for one call, some seconds: k6 has no limit.
const STEPS: u64 = 1 << 29;

/// That a selector looks at too many nodes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the selector looks at more than {STEPS} nodes of the HTML document, which is a limit of plimsoll's")]
pub(crate) struct TooManySteps;

type Found = Result<Vec<NodeId>, TooManySteps>;

/// Which nodes around another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kin {
    Children,
    /// Text and comments too.
    Contents,
    Parent,
    Parents,
    Siblings,
    Next,
    NextAll,
    Previous,
    PreviousAll,
}

/// Before which node those around another one end.
pub(crate) enum Until<'a> {
    End,
    Matched(&'a SelectorGroup),
    Nodes(&'a [NodeId]),
}

impl Document {
    /// The nodes within these that match.
    pub(crate) fn find(&self, nodes: &[NodeId], group: &SelectorGroup) -> Found {
        let matching = Matching::new(self, STEPS);
        let within = nodes.iter().flat_map(|node| {
            // Nodes beside the elements that it has as children are not looked at.
            let elements = self.children(*node).filter(|child| self.element(*child).is_some());
            elements.flat_map(|child| std::iter::once(child).chain(self.descendants(child)))
        });
        let found = without_duplicates(within.filter(|node| matching.group(group, *node)));
        finished(&matching, found)
    }

    /// Those of the nodes that match.
    pub(crate) fn filter(&self, nodes: &[NodeId], group: &SelectorGroup) -> Found {
        let matching = Matching::new(self, STEPS);
        let found = nodes.iter().copied().filter(|node| matching.group(group, *node)).collect();
        finished(&matching, found)
    }

    /// The nodes around these, up to one.
    pub(crate) fn around(&self, nodes: &[NodeId], kin: Kin, until: &Until<'_>) -> Found {
        let matching = Matching::new(self, STEPS);
        let is_end = |node: &NodeId| match until {
            Until::End => false,
            Until::Matched(group) => matching.group(group, *node),
            Until::Nodes(nodes) => nodes.contains(node),
        };
        let is_element = |node: &NodeId| self.element(*node).is_some();
        let mut found = Vec::new();
        for node in nodes.iter().copied() {
            match kin {
                Kin::Children => found.extend(self.children(node).filter(is_element)),
                Kin::Contents => found.extend(self.children(node)),
                Kin::Parent => found.extend(self.parent(node).filter(is_element)),
                Kin::Parents => {
                    found.extend(self.ancestors(node).take_while(|node| !is_end(node)).filter(is_element));
                }
                Kin::Siblings => {
                    let all = self.parent(node).into_iter().flat_map(|parent| self.children(parent));
                    found.extend(all.filter(|sibling| *sibling != node).filter(is_element));
                }
                Kin::Next => found.extend(self.later_siblings(node).find(is_element)),
                Kin::Previous => found.extend(self.earlier_siblings(node).find(is_element)),
                Kin::NextAll => {
                    let elements = self.later_siblings(node).filter(is_element);
                    found.extend(elements.take_while(|node| !is_end(node)));
                }
                Kin::PreviousAll => {
                    let elements = self.earlier_siblings(node).filter(is_element);
                    found.extend(elements.take_while(|node| !is_end(node)));
                }
            }
        }
        finished(&matching, without_duplicates(found.into_iter()))
    }

    /// Of each node, the first of itself and those that it is within which `until` ends at.
    pub(crate) fn closest(&self, nodes: &[NodeId], until: &Until<'_>) -> Found {
        let matching = Matching::new(self, STEPS);
        let is_it = |node: &NodeId| match until {
            Until::End => false,
            Until::Matched(group) => matching.group(group, *node),
            Until::Nodes(nodes) => nodes.contains(node),
        };
        let found =
            nodes.iter().filter_map(|node| std::iter::once(*node).chain(self.ancestors(*node)).find(is_it));
        let found = without_duplicates(found);
        finished(&matching, found)
    }

    /// Whether a node is within one of these.
    pub(crate) fn is_within(&self, containers: &[NodeId], node: NodeId) -> bool {
        self.ancestors(node).any(|above| containers.contains(&above))
    }
}

pub(super) fn finished(matching: &Matching<'_>, found: Vec<NodeId>) -> Found {
    if matching.is_exhausted() { Err(TooManySteps) } else { Ok(found) }
}

fn without_duplicates(nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
    let mut known = HashSet::new();
    nodes.filter(|node| known.insert(*node)).collect()
}
