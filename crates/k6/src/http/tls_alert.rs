//! Alerts of TLS that a server sent, in k6's words.

/// By their numbers (RFC 8446, 6, and older ones).
const ALERTS: &[(u8, &str)] = &[
    (10, "unexpected message"),
    (20, "bad record MAC"),
    (21, "decryption failed"),
    (22, "record overflow"),
    (30, "decompression failure"),
    (40, "handshake failure"),
    (42, "bad certificate"),
    (43, "unsupported certificate"),
    (44, "revoked certificate"),
    (45, "expired certificate"),
    (46, "unknown certificate"),
    (47, "illegal parameter"),
    (48, "unknown certificate authority"),
    (49, "access denied"),
    (50, "error decoding message"),
    (51, "error decrypting message"),
    (60, "export restriction"),
    (70, "protocol version not supported"),
    (71, "insufficient security level"),
    (80, "internal error"),
    (86, "inappropriate fallback"),
    (90, "user canceled"),
    (100, "no renegotiation"),
    (109, "missing extension"),
    (110, "unsupported extension"),
    (111, "certificate unobtainable"),
    (112, "unrecognized name"),
    (113, "bad certificate status response"),
    (114, "bad certificate hash value"),
    (115, "unknown PSK identity"),
    (116, "certificate required"),
    (120, "no application protocol"),
    (121, "encrypted client hello required"),
];

/// Such as `remote error: tls: handshake failure`.
pub(super) fn alert_text(number: u8) -> String {
    match ALERTS.iter().find(|(known, _)| *known == number) {
        Some((_, text)) => format!("remote error: tls: {text}"),
        None => format!("remote error: tls: alert({number})"),
    }
}
