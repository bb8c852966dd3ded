//! Drawings of reports as files, whose ending says their form.

use std::path::Path;

use conduct::failure::CommandResult;
#[cfg(feature = "full")]
use conduct::failure::Failure;

/// The form of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PictureForm {
    Svg,
    #[cfg(feature = "full")]
    Png,
}

impl PictureForm {
    /// The form that a file's ending names; none where it names no picture.
    ///
    /// # Errors
    /// Of PNG, where this build lacks it.
    pub(crate) fn parse(path: &Path) -> anyhow::Result<Option<PictureForm>> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Some(PictureForm::Svg)),
            #[cfg(feature = "full")]
            Some("png") => Ok(Some(PictureForm::Png)),
            #[cfg(not(feature = "full"))]
            Some("png") => anyhow::bail!("this build cannot write PNG: write FILE.svg"),
            _ => Ok(None),
        }
    }

    /// The bytes of the file of a drawing.
    pub(crate) fn bytes(self, svg: String) -> CommandResult<Vec<u8>> {
        match self {
            PictureForm::Svg => Ok(svg.into_bytes()),
            #[cfg(feature = "full")]
            PictureForm::Png => ::report::png(&svg).map_err(|error| Failure::own(anyhow::Error::new(error))),
        }
    }
}
