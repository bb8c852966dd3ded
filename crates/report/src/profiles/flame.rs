//! Flame graphs, the root on top: one SVG that needs nothing from anywhere. Each call is a box inside its caller's, as
//! wide as its share; what it is stands in its title, which browsers show under the pointer. Held against a baseline,
//! boxes have the colour of their difference.

mod against;

use ::profile::{CallTree, TreeNode};

use super::{amount, counted, percent};
use crate::terminal::line::visible;
pub use against::Against;

const ROW: usize = 18;
/// Deeper calls are not drawn: nobody scrolls that far.
const DEEPEST: usize = 200;
/// Narrower boxes are not drawn, in per cent of the whole.
const NARROWEST: f64 = 0.1;
/// Names are cut here; the box cuts them much sooner.
const LONGEST_NAME: usize = 200;

const STYLE: &str = include_str!("../../templates/flame.css");
const SCRIPT: &str = include_str!("../../templates/flame.js");

/// A flame graph as an `svg` element, to stand in any page.
pub fn flame(tree: &CallTree) -> String {
    drawn(tree, None)
}

fn drawn(tree: &CallTree, against: Option<Against<'_>>) -> String {
    let mut drawing = Drawing { tree, against, boxes: String::new(), depth: 0 };
    let whole = tree.root().value;
    if whole > 0 {
        drawing.node((tree.root(), against.map(|base| base.tree.root())), (0, 0.0));
    }
    let height = (drawing.depth + 1) * ROW;
    let label = escaped(&format!("Flame graph of {}", counted(&tree.sample_type)));
    format!(
        "<svg class=\"flame\" role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\" \
         xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}</style>{}</svg>",
        drawing.boxes
    )
}

/// A flame graph as a page of its own, in which a click on a box shows what is under it.
pub fn flame_page(tree: &CallTree, title: &str) -> String {
    page(tree, None, title)
}

/// The same with boxes in the colour of their difference from a baseline: red costs more, blue less. What is not called
/// any more has no box.
pub fn differential_page(tree: &CallTree, against: Against<'_>, title: &str) -> String {
    page(tree, Some(against), title)
}

fn page(tree: &CallTree, against: Option<Against<'_>>, title: &str) -> String {
    let title = escaped(&visible(title));
    let root = tree.root().value;
    let what = escaped(&format!(
        "{}: {} in all",
        counted(&tree.sample_type),
        amount(root as f64, &tree.sample_type)
    ));
    let colours = match against.map(|against| against.requests) {
        None => "",
        Some(Some(_)) => {
            " Red boxes cost more for each request than in the baseline, blue ones less; calls that are gone have none."
        }
        Some(None) => {
            " Red boxes are a larger share than in the baseline, blue ones a smaller; calls that are gone have none."
        }
    };
    let hint = if root > 0 {
        "Each box is a call, as wide as its share; it stands under its caller. A click on a box widens it, one on \
         the topmost shows all again. Boxes below 0.1 % are not drawn."
    } else {
        "There is nothing to draw: no stack has a value above zero."
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title></head>\
         <body class=\"flame-page\"><h1>{title}</h1><p>{what}</p><p>{hint}{colours}</p>{}<script>{SCRIPT}</script></body></html>\n",
        drawn(tree, against)
    )
}

struct Drawing<'t> {
    tree: &'t CallTree,
    against: Option<Against<'t>>,
    boxes: String,
    depth: usize,
}

impl<'t> Drawing<'t> {
    /// A call, with the same one of the baseline if there is one.
    fn node(&mut self, (node, base): (&TreeNode, Option<&'t TreeNode>), (depth, left): (usize, f64)) {
        let whole = self.tree.root().value as f64;
        let width = node.value as f64 / whole * 100.0;
        if width < NARROWEST || depth > DEEPEST {
            return;
        }
        self.depth = self.depth.max(depth);
        self.one((node, base), (depth, left), width);
        let bases = self.against.map(|against| against.children(base)).unwrap_or_default();
        let mut from = left;
        for child in self.tree.children(node).filter(|child| child.value > 0) {
            let its_base = bases.get(self.tree.name(child)).copied();
            self.node((child, its_base), (depth + 1, from));
            from += child.value as f64 / whole * 100.0;
        }
    }

    fn one(&mut self, (node, base): (&TreeNode, Option<&TreeNode>), (depth, left): (usize, f64), width: f64) {
        let name: String = visible(self.tree.name(node)).chars().take(LONGEST_NAME).collect();
        let whole = self.tree.root().value as f64;
        let cost = |value: i64| {
            let value = value as f64;
            format!("{} ({})", amount(value, &self.tree.sample_type), percent(value, whole))
        };
        let (class, told) = match &self.against {
            None => (format!("h{}", hue(&name)), format!("{}, itself {}", cost(node.value), cost(node.own))),
            Some(against) => {
                let pair = (base, node);
                (against.class(self.tree.root(), pair), against.words(self.tree.root(), pair))
            }
        };
        let title = format!("{name}: {told}");
        self.boxes.push_str(&format!(
            "<svg class=\"{class}\" x=\"{left:.4}%\" y=\"{}\" width=\"{width:.4}%\" height=\"{}\"><title>{}</title>\
             <rect width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"12\">{}</text></svg>",
            depth * ROW,
            ROW - 1,
            escaped(&title),
            escaped(&name),
        ));
    }
}

/// One of eight colours: functions of one package have the same.
fn hue(name: &str) -> u32 {
    let folder = name.rfind('/').map_or(0, |at| at + 1);
    let end = name[folder..].find(['.', ':']).map_or(name.len(), |at| folder + at);
    name[..end].bytes().fold(5_381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte)) % 8
}

/// Text that cannot end the element or attribute it stands in.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}
