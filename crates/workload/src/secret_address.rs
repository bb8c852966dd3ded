//! Addresses of servers without their secrets: URLs with a user, a password and a query, and libpq's keyword strings.

use std::ops::Range;

use crate::template::{Part, Template};

/// The replacement of secret values.
pub const REDACTED: &str = "[redacted]";

/// Parameters of queries and keyword strings that are not secrets. The values of all others are hidden.
const PLAIN: [&str; 10] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "dbname",
    "sslmode",
    "sslrootcert",
    "connect_timeout",
    "application_name",
    "target_session_attrs",
];

/// The address as it may be shown and stored: without its password and the values of its query, unless they are
/// `${env.NAME}`.
///
/// A password may contain anything, also `/`, `@`, `:` and `?`, which should be percent-encoded: it is taken to end at the
/// last `@`. So rather too much is hidden of an address with an `@` elsewhere than too little of another.
pub fn shown(address: &str) -> String {
    let mut shown = String::new();
    let mut rest = 0;
    for Range { start, end } in secret_parts(address) {
        shown.push_str(&address[rest..start]);
        shown.push_str(REDACTED);
        rest = end;
    }
    shown + &address[rest..]
}

/// Whether the address contains a password, not only the name of one.
pub fn has_password(address: &str) -> bool {
    let user = user_of(address);
    user.password.is_some_and(|password| !is_by_name(&address[password]))
}

/// The secrets of an address that are hidden wherever they appear.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Secrets<'a> {
    /// `USER:PASSWORD` of a URL, as it is written.
    User(&'a str),
    /// Values of a keyword string.
    Values(Vec<&'a str>),
}

/// The secrets of the address. Values of its query may be common words, so they are hidden in the address alone.
pub(crate) fn secrets_of(address: &str) -> Secrets<'_> {
    if is_keyword_string(address) {
        let values = keyword_values(address).into_iter();
        return Secrets::Values(values.map(|part| address[part].trim_matches('\'')).collect());
    }
    let user = user_of(address);
    Secrets::User(user.password.map_or("", |password| &address[user.start..password.end]))
}

struct User {
    /// Where it begins.
    start: usize,
    password: Option<Range<usize>>,
    /// Where the host begins.
    end: usize,
}

fn user_of(address: &str) -> User {
    let scheme = address.find("://");
    let start = scheme.map_or(0, |at| at + 3);
    let none = User { start, password: None, end: start };
    let Some(at) = address[start..].rfind('@').map(|at| start + at) else { return none };
    let user = &address[start..at];
    // In the manner of tokens: `https://TOKEN@host`.
    let is_token = address[..start].ends_with("http://") || address[..start].ends_with("https://");
    match user.find(':') {
        Some(colon) => User { start, password: Some(start + colon + 1..at), end: at + 1 },
        None if user.contains(['/', '?', '#']) => none,
        None => User { start, password: is_token.then_some(start..at), end: at + 1 },
    }
}

/// The secret parts that are written out, in order.
fn secret_parts(address: &str) -> Vec<Range<usize>> {
    let parts = match is_keyword_string(address) {
        true => keyword_values(address),
        false => {
            let user = user_of(address);
            user.password.into_iter().chain(query_values(address, user.end)).collect()
        }
    };
    parts.into_iter().filter(|part| !is_by_name(&address[part.clone()])).collect()
}

/// Whether the text is empty, or consists of values: `${env.NAME}`.
fn is_by_name(text: &str) -> bool {
    let is_literal = |part: &Part| matches!(part, Part::Literal(_));
    Template::parse(text).is_ok_and(|template| !template.parts().iter().any(is_literal))
}

/// The values of a query or a fragment that begins after `from`.
fn query_values(address: &str, from: usize) -> Vec<Range<usize>> {
    let Some(mark) = address[from..].find(['?', '#']).map(|at| from + at + 1) else { return Vec::new() };
    let mut at = mark;
    let mut values = Vec::new();
    for pair in address[mark..].split('&') {
        let end = at + pair.len();
        match pair.split_once('=') {
            Some((name, _)) if PLAIN.contains(&name) => {}
            Some((name, _)) => values.push(at + name.len() + 1..end),
            None => values.push(at..end),
        }
        at = end + 1;
    }
    values
}

/// Whether the text is like `host=db password='…'`.
fn is_keyword_string(address: &str) -> bool {
    let Some((name, _)) = address.split_once('=').filter(|_| !address.contains("://")) else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = name.trim();
    let is_pair = name.chars().all(is_name) && address.contains(|c: char| c.is_whitespace() || c == '\'');
    is_pair || PLAIN.contains(&name) || name.contains("pass")
}

/// The values of a keyword string but the plain ones: a value is in quotes, or ends at a blank; `\` escapes.
fn keyword_values(text: &str) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut at = 0;
    while let Some(equals) = text[at..].find('=').map(|equals| at + equals) {
        let name = text[at..equals].trim();
        let rest = &text[equals + 1..];
        let start = equals + 1 + rest.len() - rest.trim_start().len();
        let end = start + value_length(&text[start..]);
        if !PLAIN.contains(&name) {
            values.push(start..end);
        }
        at = end;
    }
    values
}

/// The length of the value that the text begins with, quotes included.
fn value_length(text: &str) -> usize {
    let is_quoted = text.starts_with('\'');
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(usize::from(is_quoted)) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\'' if is_quoted => return at + 1,
            c if !is_quoted && c.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_and_queries_are_hidden_in_every_kind_of_address() {
        let cases = [
            ("redis://:s3cret@h:1/0", "redis://:[redacted]@h:1/0"),
            ("rediss://u:p@ss@h", "rediss://u:[redacted]@h"),
            ("postgresql://me:p/a:s?s#w@db:5/shop", "postgresql://me:[redacted]@db:5/shop"),
            ("postgresql://me:1/2@db", "postgresql://me:[redacted]@db"),
            (
                "postgresql://me@db/shop?sslmode=require&password=x",
                "postgresql://me@db/shop?sslmode=require&password=[redacted]",
            ),
            (
                "http://me:p/w@h/m?token=abc&b=${env.B}&c",
                "http://me:[redacted]@h/m?token=[redacted]&b=${env.B}&[redacted]",
            ),
            ("https://ghp_token@h/m#t=1", "https://[redacted]@h/m#t=[redacted]"),
            ("me:pw@h:1", "me:[redacted]@h:1"),
            ("redis://u:x${env.P}@h", "redis://u:[redacted]@h"),
            (
                "host=db user=me password='a \\' b@c' dbname=shop",
                "host=db user=me password=[redacted] dbname=shop",
            ),
            ("password = a\\ b port=1", "password = [redacted] port=1"),
            ("db=host=h password=x", "db=[redacted] password=[redacted]"),
            ("host=db password='never closed", "host=db password=[redacted]"),
        ];
        for (address, expected) in cases {
            assert_eq!(shown(address), expected, "{address}");
        }
    }

    #[test]
    fn addresses_without_secrets_are_shown_as_they_are() {
        for kept in [
            "redis://u:${env.P}@h/1",
            "http://h:1/m",
            ":80",
            "redis://u@h",
            "web=:80",
            "http://h/@scope/x",
            "postgresql://${env.USER}:${env.A}${env.B}@h/d?sslmode=verify-full",
            "${env.DSN}",
            "host=h password=${env.P}",
        ] {
            assert_eq!(shown(kept), kept);
        }
        assert!(has_password("redis://:x/y@h") && !has_password("redis://:${env.P}@h/x"));
    }

    #[test]
    fn users_and_values_of_keywords_are_secrets_everywhere() {
        assert_eq!(secrets_of("http://me:p%2Fw@h/?k=v1"), Secrets::User("me:p%2Fw"));
        assert_eq!(secrets_of("redis://me@h"), Secrets::User(""));
        assert_eq!(secrets_of("host=h password='a b'"), Secrets::Values(vec!["a b"]));
    }

    proptest! {
        #[test]
        fn no_password_is_ever_shown(
            scheme in prop_oneof!["http", "https", "postgresql", "redis", "rediss"],
            user in "[a-z]{0,5}",
            password in "[!-~]{1,12}#",
            rest in "[a-z0-9.]{1,8}(:[0-9]{1,4})?(/[a-z]{0,4})?",
        ) {
            let address = format!("{scheme}://{user}:{password}@{rest}");
            prop_assert_eq!(shown(&address), format!("{scheme}://{user}:{REDACTED}@{rest}"));
        }

        #[test]
        fn no_text_makes_it_panic(text in "([a-z]{0,4}|://|=|'|@|:|/|\\?|&|#| |é|\\\\|\\$\\{env.A\\}){0,12}") {
            let _ = (shown(&text), secrets_of(&text), has_password(&text));
        }
    }
}
