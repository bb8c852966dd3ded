//! Which options curl has, as far as a command copied or written for an API uses them.

/// What an option does to a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionKind {
    /// It takes no value and changes nothing that a plan has.
    Ignored,
    /// The same with a value.
    IgnoredValue,
    /// A flag that `command` knows.
    Flag,
    /// An option with a value that `command` knows.
    Value,
    /// A plan has nothing like it.
    Refused,
}

/// The long name of a short option.
pub(super) fn long_name(short: char) -> Option<&'static str> {
    Some(match short {
        'X' => "request",
        'H' => "header",
        'd' => "data",
        'u' => "user",
        'F' => "form",
        'G' => "get",
        'b' => "cookie",
        'k' => "insecure",
        'L' => "location",
        'I' => "head",
        'A' => "user-agent",
        'e' => "referer",
        'm' => "max-time",
        'x' => "proxy",
        'E' => "cert",
        'T' => "upload-file",
        's' => "silent",
        'S' => "show-error",
        'v' => "verbose",
        'i' => "include",
        'f' => "fail",
        'g' => "globoff",
        'N' => "no-buffer",
        'O' => "remote-name",
        'J' => "remote-header-name",
        'j' => "junk-session-cookies",
        '#' => "progress-bar",
        '4' => "ipv4",
        '6' => "ipv6",
        '0' => "http1.0",
        'o' => "output",
        'w' => "write-out",
        'c' => "cookie-jar",
        'D' => "dump-header",
        'K' => "config",
        'n' => "netrc",
        'r' => "range",
        'U' => "proxy-user",
        'Z' => "parallel",
        ':' => "next",
        _ => return None,
    })
}

/// What the option of this long name does; none if it is not known.
pub(super) fn kind(name: &str) -> Option<OptionKind> {
    Some(match name {
        "silent"
        | "show-error"
        | "verbose"
        | "include"
        | "fail"
        | "fail-with-body"
        | "no-buffer"
        | "remote-name"
        | "remote-header-name"
        | "junk-session-cookies"
        | "progress-bar"
        | "no-progress-meter"
        | "tcp-nodelay"
        | "no-keepalive"
        | "styled-output"
        | "no-styled-output"
        | "location-trusted"
        | "no-sessionid"
        | "no-alpn"
        | "create-dirs"
        | "basic" => OptionKind::Ignored,
        "output" | "write-out" | "dump-header" | "connect-timeout" | "retry" | "retry-delay"
        | "retry-max-time" | "stderr" | "trace" | "trace-ascii" | "keepalive-time" | "limit-rate"
        | "speed-limit" | "speed-time" | "output-dir" => OptionKind::IgnoredValue,
        "get"
        | "insecure"
        | "location"
        | "head"
        | "http1.1"
        | "http2"
        | "http2-prior-knowledge"
        | "ipv4"
        | "ipv6"
        | "globoff"
        | "path-as-is"
        | "compressed" => OptionKind::Flag,
        "request" | "header" | "data" | "data-ascii" | "data-raw" | "data-binary" | "data-urlencode"
        | "json" | "user" | "form" | "form-string" | "cookie" | "cookie-jar" | "user-agent" | "referer"
        | "max-time" | "proxy" | "cert" | "key" | "cacert" | "upload-file" | "url" | "url-query"
        | "oauth2-bearer" | "unix-socket" | "max-redirs" | "range" | "interface" => OptionKind::Value,
        "config" | "netrc" | "http1.0" | "http3" | "http3-only" | "digest" | "ntlm" | "negotiate"
        | "anyauth" | "aws-sigv4" | "resolve" | "connect-to" | "proxy-user" | "socks5" | "parallel"
        | "next" | "preproxy" | "tr-encoding" | "form-escape" | "request-target" => OptionKind::Refused,
        _ => return None,
    })
}
