//! Flame graphs with the root on top: one SVG that loads nothing. Each call is a box under its caller, as wide as its
//! share; its title, which browsers show under the pointer, has the numbers. Compared with a baseline, the colour of a
//! box is that of its difference.

mod baseline;

use ::profile::CallTree;

use super::{amount, type_and_unit};
use crate::number;
use crate::policy::content_security_policy;
use crate::text::{escape, visible};
use baseline::CallPair;
pub use baseline::FlameBaseline;

/// Height of a row in pixels.
const ROW: usize = 18;
/// Deeper calls are not drawn.
const MAX_DEPTH: usize = 200;
/// Narrower boxes are not drawn, in percent of the whole.
const MIN_WIDTH: f64 = 0.1;
/// Longer names are cut, in characters.
const MAX_NAME: usize = 200;

/// The style sheet inside every flame graph.
pub(crate) const STYLE: &str = include_str!("../../templates/flame.css");
const SCRIPT: &str = include_str!("../../templates/flame.js");

/// A flame graph as an `svg` element for any page.
pub fn flame(tree: &CallTree) -> String {
    drawn(tree, None)
}

fn drawn(tree: &CallTree, baseline: Option<FlameBaseline<'_>>) -> String {
    let mut drawing = Drawing { tree, baseline, boxes: String::new(), depth: 0 };
    let whole = tree.root().value;
    if whole > 0 {
        let call = CallPair { node: tree.root(), base: baseline.map(|baseline| baseline.tree.root()) };
        drawing.call(call, BoxPosition { depth: 0, left: 0.0 });
    }
    let height = (drawing.depth + 1) * ROW;
    let label = escape(&format!("Flame graph of {}", type_and_unit(&tree.sample_type)));
    format!(
        "<svg class=\"flame\" role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\" \
         xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}</style>{}</svg>",
        drawing.boxes
    )
}

/// A flame graph as a page of its own, in which a click on a box zooms in.
pub fn flame_page(tree: &CallTree, title: &str) -> String {
    page(tree, None, title)
}

/// The same with boxes in the colour of their difference from a baseline: red costs more, blue less. Calls that only the
/// baseline has are not drawn.
pub fn differential_page(tree: &CallTree, baseline: FlameBaseline<'_>, title: &str) -> String {
    page(tree, Some(baseline), title)
}

fn page(tree: &CallTree, baseline: Option<FlameBaseline<'_>>, title: &str) -> String {
    let title = escape(title);
    let policy = content_security_policy(&[STYLE], &[SCRIPT]);
    let root = tree.root().value;
    let what = escape(&format!(
        "{}: {} in total",
        type_and_unit(&tree.sample_type),
        amount(root as f64, &tree.sample_type)
    ));
    let colours = match baseline.map(|baseline| baseline.requests) {
        None => "",
        Some(Some(_)) => {
            " Red boxes cost more for each request than in the baseline, blue boxes less. Calls that only the baseline has are not drawn."
        }
        Some(None) => {
            " Red boxes have a larger share than in the baseline, blue boxes a smaller one. Calls that only the baseline has are not drawn."
        }
    };
    let hint = if root > 0 {
        "Each box is a call, as wide as its share, below its caller. Click a box to zoom in, the topmost box to zoom \
         out. Boxes below 0.1 % are not drawn."
    } else {
        "There is nothing to draw: no stack has a value above zero."
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"><title>{title}</title></head>\
         <body class=\"flame-page\"><h1>{title}</h1><p>{what}</p><p>{hint}{colours}</p>{}<script>{SCRIPT}</script></body></html>\n",
        drawn(tree, baseline)
    )
}

/// Where a call's box is drawn.
#[derive(Debug, Clone, Copy)]
struct BoxPosition {
    depth: usize,
    /// In percent of the whole.
    left: f64,
}

struct Drawing<'t> {
    tree: &'t CallTree,
    baseline: Option<FlameBaseline<'t>>,
    boxes: String,
    /// The deepest box so far.
    depth: usize,
}

impl<'t> Drawing<'t> {
    /// Draw a call and the calls below it.
    fn call(&mut self, call: CallPair<'_, 't>, at: BoxPosition) {
        let whole = self.tree.root().value as f64;
        let width = call.node.value as f64 / whole * 100.0;
        if width < MIN_WIDTH || at.depth > MAX_DEPTH {
            return;
        }
        self.depth = self.depth.max(at.depth);
        self.draw_box(call, at, width);
        let bases = self.baseline.map(|baseline| baseline.children(call.base)).unwrap_or_default();
        let mut left = at.left;
        for child in self.tree.children(call.node).filter(|child| child.value > 0) {
            let base = bases.get(self.tree.name(child)).copied();
            self.call(CallPair { node: child, base }, BoxPosition { depth: at.depth + 1, left });
            left += child.value as f64 / whole * 100.0;
        }
    }

    fn draw_box(&mut self, call: CallPair<'_, 't>, BoxPosition { depth, left }: BoxPosition, width: f64) {
        let name: String = visible(self.tree.name(call.node)).chars().take(MAX_NAME).collect();
        let root = self.tree.root();
        let cost = |value: i64| {
            let value = value as f64;
            let share = number::percent(value, root.value as f64);
            format!("{} ({share})", amount(value, &self.tree.sample_type))
        };
        let (class, numbers) = match &self.baseline {
            None => (
                format!("h{}", hue(&name)),
                format!("{}, flat {}", cost(call.node.value), cost(call.node.own)),
            ),
            Some(baseline) => (baseline.class(root, call), baseline.text(root, call)),
        };
        self.boxes.push_str(&format!(
            "<svg class=\"{class}\" x=\"{left:.4}%\" y=\"{}\" width=\"{width:.4}%\" height=\"{}\"><title>{}</title>\
             <rect width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"12\">{}</text></svg>",
            depth * ROW,
            ROW - 1,
            escape(&format!("{name}: {numbers}")),
            escape(&name),
        ));
    }
}

/// One of eight colours; functions of one package have the same colour.
fn hue(name: &str) -> u32 {
    let folder = name.rfind('/').map_or(0, |at| at + 1);
    let end = name[folder..].find(['.', ':']).map_or(name.len(), |at| folder + at);
    name[..end].bytes().fold(5_381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte)) % 8
}
