//! Bytes into a [`Profile`]. The outer message is walked record by record and each record decoded by itself, so that
//! memory stays within a small multiple of the file, and an error can say where it is.

mod assemble;
mod ids;
mod inflate;
pub(crate) mod messages;
mod records;

use crate::error::ReadError;
use crate::model::Profile;

/// How much a file may make of itself. Whatever it holds, reading takes at most 40 times the inflated bytes, and
/// for what profilers write about twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes once it is inflated.
    pub inflated_bytes: usize,
    /// The most frames over all samples, with inlined ones: what every analysis has to go through.
    pub frames: u64,
}

impl Default for Limits {
    /// 64 MiB and 64 million frames; profiles of large services have a tenth of that.
    fn default() -> Self {
        Limits { inflated_bytes: 64 << 20, frames: 64 << 20 }
    }
}

/// Reads a profile, compressed by gzip or not, within the default [`Limits`].
///
/// # Errors
/// [`ReadError`] says what is wrong with it, and where.
pub fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    read_within(bytes, Limits::default())
}

/// Reads a profile, compressed by gzip or not.
///
/// # Errors
/// [`ReadError`] says what is wrong with it, and where.
pub fn read_within(bytes: &[u8], limits: Limits) -> Result<Profile, ReadError> {
    let inflated = inflate::inflate(bytes, limits.inflated_bytes)?;
    assemble::assemble(&inflated, limits.frames)
}

#[cfg(test)]
mod tests;
