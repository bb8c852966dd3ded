//! What kind of request an entry of a recording is.

/// What shows that a file is static.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestView<'a> {
    /// Without the query.
    pub(super) path: &'a str,
    /// As the browser names it; may be empty.
    pub(super) resource_type: &'a str,
    /// Of the response; may be empty.
    pub(super) media_type: &'a str,
}

const STATIC_TYPES: [&str; 8] =
    ["image", "font", "stylesheet", "script", "media", "manifest", "texttrack", "ping"];
const STATIC_MEDIA: [&str; 7] =
    ["image/", "font/", "video/", "audio/", "text/css", "text/javascript", "application/javascript"];
const STATIC_ENDINGS: [&str; 16] = [
    ".css", ".js", ".mjs", ".map", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".ico",
    ".woff", ".woff2", ".ttf", ".mp4",
];

/// Whether it is a file that a cache or a content delivery network would serve.
pub(super) fn is_static(request: RequestView<'_>) -> bool {
    let path = request.path.to_ascii_lowercase();
    STATIC_TYPES.contains(&request.resource_type)
        || STATIC_MEDIA.iter().any(|media| request.media_type.starts_with(media))
        || STATIC_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Whether the page sent it and had a response; what the browser asked on its own (preflight) is none.
pub(super) fn is_of_page(method: &str, status: i64) -> bool {
    status > 0 && !method.eq_ignore_ascii_case("options") && !method.eq_ignore_ascii_case("connect")
}

/// Whether a body of this type is a report that the browser sends on its own, such as one on a blocked script.
pub(super) fn is_report(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(media_type.as_str(), "application/csp-report" | "application/reports+json")
}

/// Whether a method changes nothing (RFC 9110, section 9.2.1).
pub(super) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// The site of a host: its last two labels, an address as a whole. Public suffixes such as `co.uk` are recognised by
/// their short labels.
pub(super) fn site(host: &str) -> String {
    let labels: Vec<&str> = host.split('.').collect();
    let is_address = host.contains(':') || labels.iter().all(|label| label.parse::<u8>().is_ok());
    if is_address || labels.len() <= 2 {
        return host.to_owned();
    }
    let second = labels[labels.len() - 2];
    let kept = if second.len() <= 3 && labels[labels.len() - 1].len() == 2 { 3 } else { 2 };
    labels[labels.len() - kept.min(labels.len())..].join(".")
}

/// Whether a header belongs into a plan: not those that a client makes itself, that make responses empty, or that only
/// describe the browser.
pub(super) fn is_kept_header(name: &str) -> bool {
    const DROPPED: [&str; 19] = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "upgrade",
        "upgrade-insecure-requests",
        "accept-encoding",
        "accept-language",
        "if-none-match",
        "if-modified-since",
        "cache-control",
        "pragma",
        "referer",
        "user-agent",
        "dnt",
        "priority",
        "keep-alive",
        "x-client-data",
    ];
    let is_token = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    is_token && !name.starts_with("sec-") && !name.starts_with("proxy-") && !DROPPED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_part_of_a_host_that_one_owner_has() {
        for (host, expected) in [
            ("api.shop.example.com", "example.com"),
            ("shop.co.uk", "shop.co.uk"),
            ("www.shop.co.uk", "shop.co.uk"),
            ("localhost", "localhost"),
            ("10.0.0.7", "10.0.0.7"),
            ("::1", "::1"),
        ] {
            assert_eq!(site(host), expected);
        }
    }

    #[test]
    fn static_files_are_recognised_by_any_sign() {
        let view = |path, resource_type, media_type| RequestView { path, resource_type, media_type };
        assert!(is_static(view("/a.CSS", "", "")));
        assert!(is_static(view("/a", "image", "")));
        assert!(is_static(view("/a", "", "font/woff2")));
        assert!(!is_static(view("/api/items", "xhr", "application/json")));
        assert!(!is_static(view("/", "document", "text/html")));
    }
}
