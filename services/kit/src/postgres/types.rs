//! Instants as `timestamptz` in PostgreSQL's binary format.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::clock::UtcMs;

/// PostgreSQL counts microseconds from 2000-01-01T00:00:00Z.
const EPOCH_MS: i64 = 946_684_800_000;

type ConversionError = Box<dyn Error + Sync + Send>;

/// An instant as a `timestamptz`.
#[derive(Debug, Clone, Copy)]
pub struct Stamp(pub UtcMs);

impl ToSql for Stamp {
    fn to_sql(&self, _ty: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionError> {
        out.put_i64(self.0.0.saturating_sub(EPOCH_MS).saturating_mul(1000));
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Stamp {
    fn from_sql(_ty: &Type, raw: &'a [u8]) -> Result<Self, ConversionError> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(UtcMs(micros.div_euclid(1000).saturating_add(EPOCH_MS))))
    }

    accepts!(TIMESTAMPTZ);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_written_and_read_is_unchanged() {
        for ms in [0, 1, EPOCH_MS - 1, EPOCH_MS, 1_767_225_600_123] {
            let mut out = BytesMut::new();
            Stamp(UtcMs(ms)).to_sql(&Type::TIMESTAMPTZ, &mut out).unwrap();
            assert_eq!(Stamp::from_sql(&Type::TIMESTAMPTZ, &out).unwrap().0, UtcMs(ms));
        }
    }
}
