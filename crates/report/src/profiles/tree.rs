//! The call tree as indented text.

use ::profile::{CallTree, TreeNode};
use evidence::TerminalText;

use super::table::aligned;
use super::{amount, type_and_unit};
use crate::number;
use crate::text::visible;

/// A call tree as text. Calls below `least_share` of the total are counted and not listed.
pub fn tree(tree: &CallTree, least_share: f64) -> TerminalText {
    let mut rows = TreeRows { tree, least: tree.root().value as f64 * least_share, rows: Vec::new() };
    rows.node(tree.root(), 0);
    let mut text = TerminalText::default();
    text.line(type_and_unit(&tree.sample_type));
    if tree.is_cut {
        text.line("The tree is too deep or too large: the rest is included in its callers.");
    }
    text.line("").append(&aligned(&["with calls", "%", "own", "%", "call"], &rows.rows));
    text
}

struct TreeRows<'t> {
    tree: &'t CallTree,
    least: f64,
    rows: Vec<Vec<String>>,
}

impl TreeRows<'_> {
    fn node(&mut self, node: &TreeNode, depth: usize) {
        let name = visible(self.tree.name(node));
        self.row(node.value, node.own, format!("{}{name}", "| ".repeat(depth)));
        let (mut few, mut rest) = (0, 0_i64);
        for child in self.tree.children(node) {
            if (child.value as f64).abs() < self.least.abs() || child.value == 0 {
                few += 1;
                rest = rest.saturating_add(child.value);
            } else {
                self.node(child, depth + 1);
            }
        }
        if few > 0 {
            self.row(rest, 0, format!("{}… {few} more", "| ".repeat(depth + 1)));
        }
    }

    fn row(&mut self, value: i64, own: i64, name: String) {
        let whole = self.tree.root().value as f64;
        let cells = |value: i64| {
            let value = value as f64;
            match value {
                0.0 => [String::new(), String::new()],
                _ => [amount(value, &self.tree.sample_type), number::percent(value, whole)],
            }
        };
        let [[value, value_share], [own, own_share]] = [cells(value), cells(own)];
        self.rows.push(vec![value, value_share, own, own_share, name]);
    }
}
