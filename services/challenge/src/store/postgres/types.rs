//! Event keys as `uuid` in PostgreSQL's binary format.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::store::event_key::EventKey;

type ConversionError = Box<dyn Error + Sync + Send>;

impl ToSql for EventKey {
    fn to_sql(&self, _ty: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionError> {
        out.put_u128(self.0);
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for EventKey {
    fn from_sql(_ty: &Type, raw: &'a [u8]) -> Result<Self, ConversionError> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }

    accepts!(UUID);
}
