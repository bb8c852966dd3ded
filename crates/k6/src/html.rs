//! HTML documents of `k6/html`: parsed as browsers parse them, searched and written as k6 does, which uses the Go packages `goquery`,
//! `cascadia` and `net/html`. Without JavaScript; see `modules::html`.

mod parsing;
mod rendering;
mod selecting;
mod selector;
#[cfg(test)]
mod tests;
mod tree;

#[cfg(test)]
use parsing::ParseError;
pub(crate) use parsing::parse;
pub(crate) use selecting::{Kin, TooManySteps, Until};
pub(crate) use selector::{SelectorGroup, parse as parse_selector};
pub(crate) use tree::{Content, Document, Namespace, NodeId};
