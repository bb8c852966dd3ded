//! Bodies of forms: as pairs, or in several parts where files are among the fields.

use sha2::{Digest as _, Sha256};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FormField {
    pub(crate) name: String,
    pub(crate) content: FieldContent,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FieldContent {
    Text(String),
    File(FormFile),
}

/// A file that a form sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FormFile {
    pub(crate) data: Vec<u8>,
    pub(crate) name: String,
    pub(crate) content_type: String,
}

/// Texts as pairs: `application/x-www-form-urlencoded`.
pub(crate) fn as_pairs(fields: &[(String, String)]) -> Vec<u8> {
    let pair =
        |field: &(String, String)| format!("{}={}", encoded(field.0.as_bytes()), encoded(field.1.as_bytes()));
    fields.iter().map(pair).collect::<Vec<_>>().join("&").into_bytes()
}

/// A text that no field contains: it is a digest of them all.
pub(crate) fn boundary(fields: &[FormField]) -> String {
    let mut digest = Sha256::new();
    for field in fields {
        digest.update(&field.name);
        match &field.content {
            FieldContent::Text(text) => digest.update(text),
            FieldContent::File(file) => digest.update(&file.data),
        }
    }
    hex::encode(&digest.finalize()[..30])
}

/// Fields as parts: `multipart/form-data`.
pub(crate) fn as_parts(fields: &[FormField], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for field in fields {
        let name = quoted(&field.name);
        body.extend(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"").bytes());
        match &field.content {
            FieldContent::Text(text) => body.extend(format!("\r\n\r\n{text}").bytes()),
            FieldContent::File(file) => {
                let head = format!(
                    "; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
                    quoted(&file.name),
                    quoted(&file.content_type)
                );
                body.extend(head.bytes());
                body.extend(&file.data);
            }
        }
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    body
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "%0D").replace('\n', "%0A")
}

fn encoded(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b' ' => encoded.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) => encoded.push((*byte).into()),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_as_k6_writes_them() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(as_pairs(&[pair("a", "\u{e4}&"), pair("b", "x y")]), b"a=%C3%A4%26&b=x+y");
        let file = FormFile {
            data: vec![0, 255],
            name: "a\"b\\c".to_owned(),
            content_type: "text/plain".to_owned(),
        };
        let fields = [
            FormField { name: "n".to_owned(), content: FieldContent::Text("5".to_owned()) },
            FormField { name: "f".to_owned(), content: FieldContent::File(file) },
        ];
        let expected = b"--B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n5\r\n\
            --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\\"b\\\\c\"\r\nContent-Type: text/plain\r\n\r\n\
            \0\xff\r\n--B--\r\n";
        assert_eq!(as_parts(&fields, "B"), expected);
        assert_eq!(boundary(&fields).len(), 60);
        assert_ne!(boundary(&fields), boundary(&fields[1..]));
    }
}
