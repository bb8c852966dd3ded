//! The call tree as indented text.

use ::profile::{CallTree, TreeNode};

use super::table::aligned;
use super::{amount, counted, percent};
use crate::terminal::line::visible;

/// A call tree as text. Calls below `least_share` of the total are counted, not shown.
pub fn tree(tree: &CallTree, least_share: f64) -> String {
    let mut drawing = Drawing { tree, least: tree.root().value as f64 * least_share, rows: Vec::new() };
    drawing.node(tree.root(), 0);
    let cut = if tree.is_cut {
        "The tree is very deep or large: the rest is counted with its callers.\n"
    } else {
        ""
    };
    let head = ["with calls", "%", "own", "%", "call"];
    format!("{}\n{cut}\n{}", counted(&tree.sample_type), aligned(&head, &drawing.rows))
}

struct Drawing<'t> {
    tree: &'t CallTree,
    least: f64,
    rows: Vec<Vec<String>>,
}

impl Drawing<'_> {
    fn node(&mut self, node: &TreeNode, depth: usize) {
        let name = visible(self.tree.name(node));
        self.row((node.value, node.own), format!("{}{name}", "| ".repeat(depth)));
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
            self.row((rest, 0), format!("{}… {few} more", "| ".repeat(depth + 1)));
        }
    }

    fn row(&mut self, (value, own): (i64, i64), name: String) {
        let whole = self.tree.root().value as f64;
        let shown = |value: i64| {
            let value = value as f64;
            let nothing = value == 0.0;
            [amount(value, &self.tree.sample_type), percent(value, whole)]
                .map(|text| if nothing { String::new() } else { text })
        };
        let [[value, value_share], [own, own_share]] = [shown(value), shown(own)];
        self.rows.push(vec![value, value_share, own, own_share, name]);
    }
}
