//! Drawings as PNG, with fonts of their own, so that they look the same on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb};

/// DejaVu Sans, reduced to Latin, Greek, punctuation and a few signs (fonts/LICENSE).
const FONTS: [&[u8]; 2] =
    [include_bytes!("../fonts/DejaVuSans.ttf"), include_bytes!("../fonts/DejaVuSans-Bold.ttf")];

/// The most pixels of a picture: 128 MB while it is drawn.
const MAX_PIXELS: u64 = 32_000_000;

/// Why a drawing has no PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// It cannot be read as SVG.
    #[error("cannot read the drawing: {0}")]
    Svg(#[from] usvg::Error),
    /// It has too many pixels, or none.
    #[error("a drawing of {width} x {height} pixels is too large for a PNG: write it as SVG")]
    Size { width: u32, height: u32 },
    /// It cannot be encoded.
    #[error("cannot encode the PNG: {0}")]
    Encoding(String),
}

/// An SVG drawing of this crate as PNG, in the size that it states. Characters outside of the fonts are left out.
///
/// # Errors
/// When the drawing cannot be read, or has more than 32 million pixels.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    FONTS.iter().for_each(|font| fonts.load_font_data(font.to_vec()));
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width(), size.height());
    let pixels = (u64::from(width) * u64::from(height) <= MAX_PIXELS).then(|| Pixmap::new(width, height));
    let mut pixels = pixels.flatten().ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{self, Background, Palette};

    /// The colours of a drawing, pixel by pixel, without their opacity.
    fn pixels(svg: &str) -> (u32, u32, Vec<[u8; 3]>) {
        let picture = Pixmap::decode_png(&png(svg).unwrap()).unwrap();
        let colours = picture.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
        (picture.width(), picture.height(), colours.collect())
    }

    #[test]
    fn a_drawing_has_its_size_and_its_colours_where_they_belong() {
        let palette = Palette::of(Background::White);
        let style = ".line{fill:none;stroke-width:4}.line.c0{stroke:#ff0000}";
        let elements = "<svg class=\"plot\" y=\"10\" width=\"100\" height=\"40\" viewBox=\"0 0 100 40\">\
                        <path class=\"line c0\" d=\"M0 20H100\"/></svg>";
        let (width, height, colours) = pixels(&drawing::file(100.0, 60.0, &palette, style, elements));
        assert_eq!((width, height), (200, 120), "two pixels for each unit");
        let at = |x: u32, y: u32| colours[(y * width + x) as usize];
        // The line is at 10 + 20 units, from 28 to 32.
        let column: Vec<u32> = (0..height).filter(|y| at(100, *y) == [255, 0, 0]).collect();
        assert_eq!((column.first(), column.last(), column.len()), (Some(&56), Some(&63), 8));
        assert_eq!((at(0, 0), at(199, 119)), ([255, 255, 255], [255, 255, 255]));
    }

    #[test]
    fn texts_are_drawn_and_bold_ones_have_more_ink() {
        let ink = |weight: &str, text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"300\" height=\"60\" font-family=\"{}\">\
                 <text x=\"10\" y=\"40\" font-size=\"30\" font-weight=\"{weight}\">{text}</text></svg>",
                drawing::FONTS
            );
            Pixmap::decode_png(&png(&svg).unwrap()).unwrap().pixels().iter().filter(|p| p.alpha() > 0).count()
        };
        assert_eq!(ink("400", " "), 0);
        assert!(ink("400", "p95 of 50 ms") > 500);
        assert!(ink("600", "p95 of 50 ms") as f64 > 1.1 * ink("400", "p95 of 50 ms") as f64);
        for sign in "≤≥µ·–…×✓✗→√±".chars() {
            assert!(ink("400", &sign.to_string()) > 10, "{sign}");
        }
    }

    #[test]
    fn what_is_not_a_drawing_is_refused() {
        assert!(matches!(png("<svg"), Err(PngError::Svg(_))));
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"4000000\" height=\"4000000\"/>";
        assert!(matches!(png(huge), Err(PngError::Size { .. })));
    }
}
