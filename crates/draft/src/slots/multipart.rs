//! Fields of forms with parts (RFC 7578).

use super::{Slot, SlotKind};

/// The fields of the form `body`; files are none.
pub(super) fn fields(body: &str, content_type: &str) -> Vec<Slot> {
    let Some(boundary) = boundary(content_type).filter(|boundary| !boundary.is_empty()) else {
        return Vec::new();
    };
    let delimiter = format!("--{boundary}");
    let mut slots = Vec::new();
    let mut at = 0;
    while let Some(found) = body[at..].find(&delimiter) {
        let start = at + found + delimiter.len();
        let end = body[start..].find(&format!("\r\n{delimiter}")).map(|length| start + length);
        slots.extend(end.and_then(|end| field(body, start, end)));
        at = start;
    }
    slots
}

fn boundary(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|part| part.trim().split_once('='));
    let mut named = parameters.filter(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    named.next().map(|(_, value)| value.trim_matches('"').to_owned())
}

/// The field between two delimiters.
fn field(body: &str, start: usize, end: usize) -> Option<Slot> {
    let (head, _) = body[start..end].split_once("\r\n\r\n")?;
    let range = start + head.len() + 4..end;
    let lower = head.to_ascii_lowercase();
    let at = lower.find("; name=\"")? + "; name=\"".len();
    let name = head[at..].split('"').next()?.to_owned();
    let value = body[range.clone()].to_owned();
    (!lower.contains("filename=")).then_some(Slot { range, name, value, kind: SlotKind::FormPart })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_files_are_not() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nab\r\nc\r\n--x\r\nContent-Disposition: \
                    form-data; name=\"f\"; filename=\"a\"\r\n\r\n1\r\n--x--\r\n";
        let slots = fields(body, "multipart/form-data; boundary=\"x\"");
        let found: Vec<_> =
            slots.iter().map(|slot| (slot.name.as_str(), &body[slot.range.clone()])).collect();
        assert_eq!(found, [("token", "ab\r\nc")]);
        assert_eq!(fields(body, "text/plain"), []);
    }
}
