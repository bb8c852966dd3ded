//! Response heads that a strict parser refuses and that the clients of users read all the same: with blanks around names,
//! with folded fields, with very many fields. They are put into the form of the standard, and then parsed as strictly as others.

use crate::deviation::{Deviation, Deviations};

/// A head in the form of the standard.
#[derive(Debug, Default)]
pub(super) struct RegularHead {
    pub(super) bytes: Vec<u8>,
    pub(super) deviations: Deviations,
    /// Whether another reader may find another end of the body: a field that frames it was not in the form of the standard.
    pub(super) is_ambiguous: bool,
}

/// The length of the head at the start of `input`; none where it has not ended.
pub(super) fn end_of(input: &[u8]) -> Option<usize> {
    let line_ends = input.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    line_ends.map(|(at, _)| at).find_map(|at| match input[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Put a whole head into the form of the standard as far as that can be done.
pub(super) fn regular(head: &[u8]) -> RegularHead {
    let mut made = RegularHead::default();
    // Whether the field before is left out, and so is what continues it.
    let mut is_left_out = false;
    for (nth, line) in head.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match text {
            _ if nth == 0 => made.line(text),
            [b' ' | b'\t', ..] if nth > 1 => {
                made.deviations.add(Deviation::FoldedField);
                if !is_left_out {
                    made.continue_field(text.trim_ascii());
                }
            }
            _ => is_left_out = made.field(text) == Field::LeftOut,
        }
    }
    made
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Kept,
    LeftOut,
}

impl RegularHead {
    fn line(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Add a field, or the blank line at the end.
    fn field(&mut self, text: &[u8]) -> Field {
        let name_end = text.iter().position(|&byte| byte == b':').unwrap_or(0);
        let (written, rest) = text.split_at(name_end);
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let name = &written[..written.iter().rposition(|byte| !is_blank(byte)).map_or(0, |at| at + 1)];
        // The first field cannot continue another: that is left to the parser.
        if text.first().is_some_and(is_blank) {
            self.line(text);
            return Field::Kept;
        }
        if name.iter().any(is_blank) {
            self.deviations.add(Deviation::BlankInName);
            return Field::LeftOut;
        }
        if name.len() < written.len() {
            self.deviations.add(Deviation::BlankBeforeColon);
            self.is_ambiguous |= is_framing(name);
        }
        self.bytes.extend_from_slice(name);
        self.line(rest);
        Field::Kept
    }

    /// Add to the field before.
    fn continue_field(&mut self, text: &[u8]) {
        self.bytes.truncate(self.bytes.len() - b"\r\n".len());
        let begin = self.bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let name = self.bytes[begin..].split(|&byte| byte == b':').next().unwrap_or_default();
        self.is_ambiguous |= is_framing(name);
        self.bytes.push(b' ');
        self.line(text);
    }
}

/// Whether a field of this name may say where the body ends.
fn is_framing(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"content-length") || name.eq_ignore_ascii_case(b"transfer-encoding")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expect: &str, deviations: &[Deviation], is_ambiguous: bool) {
        let made = regular(head.as_bytes());
        assert_eq!(String::from_utf8(made.bytes).unwrap(), expect);
        assert!(made.deviations.iter().eq(deviations.iter().copied()), "{:?}", made.deviations);
        assert_eq!(made.is_ambiguous, is_ambiguous);
        assert_eq!(end_of(head.as_bytes()), Some(head.len()));
        assert_eq!(end_of(&head.as_bytes()[..head.len() - 1]), None);
    }

    #[test]
    fn a_head_is_put_into_the_form_of_the_standard() {
        use Deviation::{BlankBeforeColon, BlankInName, FoldedField};
        check("S\na: b\r\n\n", "S\r\na: b\r\n\r\n", &[], false);
        check("S\r\na \t: b :c\r\n\r\n", "S\r\na: b :c\r\n\r\n", &[BlankBeforeColon], false);
        check("S\r\na: b\r\n  c \r\n\td\r\n\r\n", "S\r\na: b c d\r\n\r\n", &[FoldedField], false);
        check("S\r\na b: c\r\n d\r\ne:f\r\n\r\n", "S\r\ne:f\r\n\r\n", &[BlankInName, FoldedField], false);
        // What cannot be put right is left to the parser.
        check("S\r\n a: b\r\n\r\n", "S\r\n a: b\r\n\r\n", &[], false);
        check("S\r\nno colon\r\n\r\n", "S\r\nno colon\r\n\r\n", &[], false);
    }

    #[test]
    fn a_field_that_frames_the_body_and_had_to_be_put_right_is_ambiguous() {
        use Deviation::{BlankBeforeColon, FoldedField};
        check("S\r\nContent-Length : 5\r\n\r\n", "S\r\nContent-Length: 5\r\n\r\n", &[BlankBeforeColon], true);
        check(
            "S\r\ntransfer-encoding:\r\n chunked\r\n\r\n",
            "S\r\ntransfer-encoding: chunked\r\n\r\n",
            &[FoldedField],
            true,
        );
        check(
            "S\r\na: b\r\n content-length: 5\r\n\r\n",
            "S\r\na: b content-length: 5\r\n\r\n",
            &[FoldedField],
            false,
        );
    }
}
