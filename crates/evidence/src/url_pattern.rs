//! URLs that differ in one part, such as an identifier or the value of a query.

/// So many URLs of one pattern are told apart; of more, tables list the pattern.
pub const TOLD_APART: usize = 20;
/// In place of the part in which they differ.
const ANY: &str = "{…}";
/// URLs of more parts have no patterns: servers may make them by redirects.
const MOST_PARTS: usize = 32;
/// After which of its characters a part ends.
const ENDS: [char; 4] = ['/', '?', '&', '='];

/// The patterns of a URL, each once and in order: with any one of the parts of its path and query left open, and with all that
/// contain a digit. None of a name that is not a URL.
pub fn patterns_of(url: &str) -> Vec<String> {
    let Some(host) = url.find("://").map(|at| at + "://".len()) else { return Vec::new() };
    let path = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    let (origin, path) = url.split_at(path);
    let parts: Vec<&str> = path.split_inclusive(ENDS).collect();
    if parts.len() > MOST_PARTS {
        return Vec::new();
    }
    let open = |is_open: &dyn Fn(usize, &str) -> bool| -> String {
        let part = |(at, part): (usize, &&str)| {
            let value = part.trim_end_matches(ENDS);
            match is_open(at, value) && !value.is_empty() {
                true => format!("{ANY}{}", &part[value.len()..]),
                false => (*part).to_owned(),
            }
        };
        let parts: String = parts.iter().enumerate().map(part).collect();
        format!("{origin}{parts}")
    };
    let with_digit = open(&|_, value| value.contains(|c: char| c.is_ascii_digit()));
    let one = (0..parts.len()).map(|open_at| open(&|at, _| at == open_at));
    let mut all: Vec<String> = one.chain([with_digit]).filter(|pattern| pattern.contains(ANY)).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_one_part_is_open_or_all_with_digits() {
        assert_eq!(
            patterns_of("http://a:80/users/7/orders/o-9?page=x"),
            [
                "http://a:80/users/7/orders/o-9?page={…}",
                "http://a:80/users/7/orders/o-9?{…}=x",
                "http://a:80/users/7/orders/{…}?page=x",
                "http://a:80/users/7/{…}/o-9?page=x",
                "http://a:80/users/{…}/orders/o-9?page=x",
                "http://a:80/users/{…}/orders/{…}?page=x",
                "http://a:80/{…}/7/orders/o-9?page=x",
            ]
        );
        assert_eq!(patterns_of("http://a/{…}"), ["http://a/{…}"], "a pattern is one of its own");
    }

    #[test]
    fn names_origins_and_urls_of_many_parts_have_none() {
        for url in ["users/7", "http://a1", "http://a1/", &format!("http://a{}", "/7".repeat(MOST_PARTS + 1))]
        {
            assert_eq!(patterns_of(url), Vec::<String>::new(), "{url}");
        }
    }
}
