//! Header compression (RFC 7541).
//!
//! The decoder takes whatever the RFC allows. The encoder serves speed: strings go out unencoded, and only
//! what is seen a second time enters the dynamic table, so that the values that vary from request to
//! request do not push out those that stay.

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod static_table;
mod table;

pub(super) use decoder::{Decoder, Effects, Fit};
pub(super) use encoder::Encoder;

/// The table size both sides start with, and the most that we use of what the peer offers.
pub(super) const TABLE_BYTES: usize = 4096;
