//! Inflates gzip, within a limit: a kilobyte can inflate to gigabytes.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;

use crate::error::ReadError;

const MAGIC: &[u8] = &[0x1f, 0x8b];

/// The bytes of the profile itself, at most `most` of them.
pub(super) fn inflate(bytes: &[u8], most: usize) -> Result<Cow<'_, [u8]>, ReadError> {
    if !bytes.starts_with(MAGIC) {
        return if bytes.len() > most { Err(ReadError::TooLarge { most }) } else { Ok(Cow::Borrowed(bytes)) };
    }
    let mut inflated = Vec::new();
    let with_one_more = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = MultiGzDecoder::new(bytes).take(with_one_more).read_to_end(&mut inflated);
    if inflated.len() > most {
        return Err(ReadError::TooLarge { most });
    }
    match read {
        Ok(_) => Ok(Cow::Owned(inflated)),
        Err(error) => Err(ReadError::Gzip { inflated_bytes: inflated.len(), why: error.to_string() }),
    }
}
