//! Drawings as files of their own: SVG with its colours in it, which needs no page around it.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::policy;
use crate::text::{escape, fit};

/// The colours of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Dark lines on white.
    #[default]
    White,
    /// Light lines on a dark ground.
    Dark,
}

/// The fonts of texts, by what systems have.
pub(crate) const FONTS: &str = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif";
/// The approximate width of a character at 12 px.
const CHARACTER_WIDTH: f64 = 6.6;
/// How much larger a drawing is than its coordinates say, in pixels.
const SCALE: f64 = 2.0;

/// The palette of a page, in one of its two variants.
pub(crate) struct Palette(Vec<(&'static str, &'static str)>);

impl Palette {
    /// That of the style sheet of pages.
    pub(crate) fn of(background: Background) -> Palette {
        let roots = policy::STYLE.split(":root {").skip(1);
        let variant = match background {
            Background::White => 0,
            Background::Dark => 1,
        };
        let block =
            roots.map(|rest| rest.split('}').next().unwrap_or_default()).nth(variant).unwrap_or_default();
        let pair = |declaration: &'static str| {
            let (name, value) = declaration.split_once(':')?;
            Some((name.trim().strip_prefix("--")?, value.trim()))
        };
        Palette(block.split(';').filter_map(pair).collect())
    }

    pub(crate) fn get(&self, name: &str) -> &'static str {
        self.0.iter().find(|(of, _)| *of == name).map_or("#888888", |(_, value)| value)
    }
}

/// A drawing of this size with this style and these elements, on its background.
pub(crate) fn file(width: f64, height: f64, palette: &Palette, style: &str, elements: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"{FONTS}\">\n<style>{style}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{elements}\n</svg>\n",
        width * SCALE,
        height * SCALE,
        palette.get("card"),
    )
}

/// A text at a place, cut to so many characters.
pub(crate) fn text(out: &mut String, (x, y): (f64, f64), attributes: &str, text: &str, columns: usize) {
    // Writing to a String cannot fail.
    let _ =
        write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escape(&fit(text, columns)));
}

/// The approximate width of a text at this size in pixels.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    text.width() as f64 * CHARACTER_WIDTH * size / 12.0
}
