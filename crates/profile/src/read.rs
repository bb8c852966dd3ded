//! Reads bytes into a [`Profile`]. The outer message is walked record by record and each record decoded by itself, so
//! that memory is bounded by a small multiple of the file, and an error can name its position.

mod assemble;
mod ids;
mod inflate;
pub(crate) mod messages;
mod records;

use crate::error::ReadError;
use crate::model::Profile;

/// Limits on a file. Whatever it contains, reading takes at most 1 GiB by the default ones: there are also limits on the
/// numbers of records of each kind. The files of profilers take about twice their inflated bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes once it is inflated.
    pub inflated_bytes: usize,
    /// The most frames over all samples, with inlined ones: the work of every analysis.
    pub frames: u64,
}

impl Default for Limits {
    /// 64 MiB and 32 million frames; profiles of large services have a tenth of that.
    fn default() -> Self {
        Limits { inflated_bytes: 64 << 20, frames: 32 << 20 }
    }
}

/// Reads a profile, compressed by gzip or not, within the default [`Limits`].
///
/// # Errors
/// [`ReadError`] names the problem and its position.
pub fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    read_within(bytes, Limits::default())
}

/// Reads a profile, compressed by gzip or not.
///
/// # Errors
/// [`ReadError`] names the problem and its position.
pub fn read_within(bytes: &[u8], limits: Limits) -> Result<Profile, ReadError> {
    let inflated = inflate::inflate(bytes, limits.inflated_bytes)?;
    assemble::assemble(&inflated, limits.frames)
}

#[cfg(test)]
mod tests;
