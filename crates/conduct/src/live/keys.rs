//! What keys mean.

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    NextEndpoint,
    EndpointBefore,
    LongerColumns,
    ShorterColumns,
    NextScale,
    Pause,
    Mark,
    Help,
    Stop,
}

/// The keys in what was read at once. Arrow keys come as an escape sequence; what is not known is left out.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let (key, length) = match (first, after) {
            (0x1b, [b'[' | b'O', sequence @ ..]) => {
                // Digits and semicolons come before the byte that says what it is.
                let end = sequence.iter().position(|byte| (0x40..=0x7e).contains(byte));
                (end.and_then(|end| arrow(sequence[end])), end.map_or(rest.len(), |end| end + 3))
            }
            (byte, _) => (letter(*byte), 1),
        };
        keys.extend(key);
        rest = &rest[length.min(rest.len())..];
    }
    keys
}

fn arrow(end: u8) -> Option<Key> {
    match end {
        b'A' => Some(Key::EndpointBefore),
        b'B' => Some(Key::NextEndpoint),
        _ => None,
    }
}

fn letter(byte: u8) -> Option<Key> {
    Some(match byte {
        b'e' | b'j' => Key::NextEndpoint,
        b'k' => Key::EndpointBefore,
        b'+' | b'=' => Key::LongerColumns,
        b'-' | b'_' => Key::ShorterColumns,
        b's' => Key::NextScale,
        b'p' | b' ' => Key::Pause,
        b'm' => Key::Mark,
        b'?' | b'h' => Key::Help,
        b'q' => Key::Stop,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_and_letters_are_keys_and_what_is_unknown_is_skipped() {
        let read = b"\x1b[A\x1bOBp\x1b[1;5Bx\x1b[3~?\x1b";
        let expected = [Key::EndpointBefore, Key::NextEndpoint, Key::Pause, Key::NextEndpoint, Key::Help];
        assert_eq!(keys(read), expected);
        assert_eq!(keys(b"\x1b[12"), []);
        assert_eq!(
            keys(b"+-s mq"),
            [Key::LongerColumns, Key::ShorterColumns, Key::NextScale, Key::Pause, Key::Mark, Key::Stop]
        );
    }
}
