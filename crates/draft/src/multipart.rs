//! Forms with parts (RFC 7578), as they are sent.

/// Separates the parts of forms that a draft writes. A plan's text may not depend on chance, so it is always the same.
pub(crate) const BOUNDARY: &str = "------------------------plimsoll";

pub(crate) struct PartHead<'a> {
    pub(crate) name: &'a str,
    pub(crate) file_name: Option<&'a str>,
    pub(crate) media_type: Option<&'a str>,
}

impl PartHead<'_> {
    /// From the boundary to its last header; names are quoted as browsers and curl quote them.
    pub(crate) fn lines(&self, boundary: &str) -> String {
        let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        let mut out =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(self.name));
        if let Some(file_name) = self.file_name {
            out.push_str(&format!("; filename=\"{}\"", quoted(file_name)));
        }
        if let Some(media_type) = self.media_type {
            out.push_str(&format!("\r\nContent-Type: {}", media_type.replace(['\r', '\n'], " ")));
        }
        out
    }
}

/// The content type of a form with this boundary.
pub(crate) fn content_type(boundary: &str) -> String {
    format!("multipart/form-data; boundary={boundary}")
}

/// What follows the last part.
pub(crate) fn end(boundary: &str) -> String {
    format!("--{boundary}--\r\n")
}
