//! The paths of the health service of gRPC, which responds under any load.

/// How they begin.
pub(crate) const HEALTH_PATH: &str = "/grpc.health.";
/// The same as HTTP/2 transfers it: as it is, or in the Huffman code of RFC 7541 (the whole bytes of it).
pub(super) const HEALTH_PATH_CODES: [&[u8]; 2] =
    [HEALTH_PATH.as_bytes(), &[0x62, 0x6b, 0x2b, 0x22, 0xf3, 0x94, 0x74, 0x26, 0x75]];
