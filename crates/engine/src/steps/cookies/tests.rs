use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const NOW: DatedInstant =
    DatedInstant { at: Instant::from_nanos(5_000_000_000), unix_ns: 1_795_255_876_000_000_000 };

fn at<'a>(host: &'a str, path: &'a str) -> CookieUrl<'a> {
    CookieUrl { host, path, scheme: Scheme::Http }
}

fn sent(jar: &CookieJar, to: CookieUrl<'_>) -> String {
    String::from_utf8(line(b"", &jar.due(to, NOW.at))).unwrap()
}

/// The cookies that are sent to `to` after these lines were received from `shop.test/a/b`.
fn after(lines: &[&str], to: CookieUrl<'_>) -> String {
    let mut jar = CookieJar::default();
    lines.iter().for_each(|line| jar.set(line.as_bytes(), at("shop.test", "/a/b"), NOW, false));
    sent(&jar, to)
}

#[test]
fn a_cookie_is_sent_to_its_own_domain_and_path_only() {
    let line = &["id=1"];
    assert_eq!(after(line, at("shop.test", "/a/c")), "id=1");
    assert_eq!(after(line, at("SHOP.test", "/a")), "id=1");
    assert_eq!(after(line, at("shop.test", "/ab")), "");
    assert_eq!(after(line, at("shop.test", "/")), "");
    assert_eq!(after(line, at("www.shop.test", "/a")), "");
    assert_eq!(after(&["id=1; Path=/"], at("shop.test", "/x")), "id=1");
    assert_eq!(after(&["id=1; Domain=.Shop.Test; Path=/"], at("www.shop.test", "/")), "id=1");
    assert_eq!(after(&["id=1; Domain=shop.test; Path=/"], at("myshop.test", "/")), "");
    for foreign in ["id=1; Domain=other.test", "id=1; Domain=test", "id=1; Domain=www.shop.test"] {
        assert_eq!(after(&[foreign], at("shop.test", "/a")), "", "{foreign}");
    }
}

#[test]
fn a_secure_cookie_is_sent_under_tls_only() {
    let line = &["id=1; Secure"];
    assert_eq!(after(line, at("shop.test", "/a")), "");
    assert_eq!(after(line, CookieUrl { scheme: Scheme::Https, ..at("shop.test", "/a") }), "id=1");
}

#[test]
fn a_cookie_that_was_set_under_tls_is_not_sent_in_cleartext() {
    let mut jar = CookieJar::default();
    jar.set(b"id=1", CookieUrl { scheme: Scheme::Https, ..at("shop.test", "/a/b") }, NOW, false);
    assert_eq!(sent(&jar, at("shop.test", "/a")), "");
    assert_eq!(sent(&jar, CookieUrl { scheme: Scheme::Https, ..at("shop.test", "/a") }), "id=1");
}

#[test]
fn a_cookie_expires_by_max_age_or_by_date() {
    let to = at("shop.test", "/a");
    assert_eq!(after(&["id=1; Max-Age=10"], to), "id=1");
    assert_eq!(after(&["id=1", "id=2; Max-Age=0"], to), "");
    assert_eq!(after(&["id=1", "id=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], to), "");
    assert_eq!(after(&["id=1; Expires=Sat, 21 Nov 2026 10:11:20 GMT"], to), "id=1");
    assert_eq!(after(&["id=1; Expires=Sat, 21-Nov-26 10:11:15 GMT"], to), "");
    assert_eq!(after(&["id=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9"], to), "id=1");
}

#[test]
fn a_newer_cookie_replaces_the_older_and_longer_paths_are_sent_first() {
    let lines = ["a=1", "b=2; Path=/", "c=3; Path=/a/c", "a=4"];
    assert_eq!(after(&lines, at("shop.test", "/a/c")), "c=3; a=4; b=2");
}

#[test]
fn malformed_cookies_are_ignored_and_a_jar_has_a_capacity() {
    for line in ["", "id", "=1", "id=1\u{1}", &format!("id={}", "x".repeat(MAX_COOKIE_BYTES))] {
        assert_eq!(after(&[line], at("shop.test", "/a")), "", "{line}");
    }
    let mut jar = CookieJar::default();
    for n in 0..1_000 {
        jar.set(format!("c{n}=1").as_bytes(), at("shop.test", "/"), NOW, false);
    }
    assert_eq!(jar.cookies.len(), MAX_COOKIES);
    assert!(sent(&jar, at("shop.test", "/")).contains("c999=1"));
}

#[test]
fn expiry_dates_are_read_in_every_usual_form() {
    assert_eq!(unix_seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
    assert_eq!(unix_seconds("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
    assert_eq!(unix_seconds("Tue, 29 Feb 2000 00:00:00 GMT"), Some(951_782_400));
    for wrong in ["", "soon", "Sun, 06 Nov", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 6 Nov 1994 25:00:00 GMT"]
    {
        assert_eq!(unix_seconds(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn any_set_cookie_lines_give_one_valid_cookie_header_for_their_own_host(
        lines in vec(vec(prop_oneof![
            "[ -~]{0,12}".prop_map(String::into_bytes),
            vec(any::<u8>(), 0..8),
            select(vec!["a=1", "; ", ";", "=", "Domain=", ".shop.test", "Path=/", "Max-Age=", "9223372036854775807",
                "-1", "Expires=", "Sun, 06 Nov 1994 08:49:37 GMT", "31-Feb-99 23:59:60", "Secure"])
                .prop_map(|word| word.as_bytes().to_vec()),
        ], 0..12), 0..80),
        path in "/[ -~]{0,20}",
    ) {
        let mut jar = CookieJar::default();
        for line in &lines {
            jar.set(&line.concat(), at("www.shop.test", &path), NOW, false);
        }
        prop_assert!(jar.cookies.len() <= MAX_COOKIES);
        let out = line(b"", &jar.due(at("www.shop.test", &path), NOW.at));
        prop_assert!(!out.iter().any(u8::is_ascii_control), "{}", out.escape_ascii());
        prop_assert!(jar.due(at("other.test", &path), NOW.at).is_empty());
    }
}
