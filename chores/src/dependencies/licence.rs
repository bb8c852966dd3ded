//! Whether a licence expression can be met with allowed licences.
//!
//! Expressions are SPDX's (annex D of its specification 2.3): `AND` binds tighter than `OR`, `WITH` adds an exception to a
//! licence. Older packages write `/` for `OR`.

/// Whether the expression allows a choice whose licences are all in the list; a broken or empty one does not.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { tokens: spaced.split_whitespace().peekable(), allowed };
    let result = parser.alternatives();
    parser.tokens.next().is_none() && result.unwrap_or(false)
}

struct Parser<'a, I: Iterator<Item = &'a str>> {
    tokens: std::iter::Peekable<I>,
    allowed: &'a [String],
}

impl<'a, I: Iterator<Item = &'a str>> Parser<'a, I> {
    /// Parts joined by `OR`; nothing when the expression is broken.
    fn alternatives(&mut self) -> Option<bool> {
        let mut any = self.conjunction()?;
        while self.tokens.next_if_eq(&"OR").is_some() {
            any |= self.conjunction()?;
        }
        Some(any)
    }

    /// Parts joined by `AND`.
    fn conjunction(&mut self) -> Option<bool> {
        let mut all = self.licence()?;
        while self.tokens.next_if_eq(&"AND").is_some() {
            all &= self.licence()?;
        }
        Some(all)
    }

    /// One licence, or an expression in parentheses.
    fn licence(&mut self) -> Option<bool> {
        let token = self.tokens.next()?;
        if token == "(" {
            let inner = self.alternatives()?;
            return (self.tokens.next()? == ")").then_some(inner);
        }
        if matches!(token, ")" | "AND" | "OR" | "WITH") {
            return None;
        }
        let mut name = token.to_owned();
        if self.tokens.next_if_eq(&"WITH").is_some() {
            name = format!("{name} WITH {}", self.tokens.next()?);
        }
        Some(self.allowed.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_allowed_licences_is_found() {
        let allowed = ["MIT", "ISC", "Zlib WITH X"].map(str::to_owned);
        for (expression, expect) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("GPL-3.0 AND MIT OR ISC", true),
            ("(GPL-3.0 OR MIT) AND (ISC OR X)", true),
            ("(GPL-3.0 OR X) AND ISC", false),
            ("Zlib WITH X", true),
            ("Zlib", false),
            ("MIT WITH X", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expect, "{expression}");
        }
    }

    #[test]
    fn a_broken_expression_is_not_allowed() {
        let allowed = ["MIT".to_owned()];
        for expression in ["", "MIT MIT", "MIT OR", "(MIT", "MIT)", "OR MIT", "MIT WITH", "()"] {
            assert!(!is_allowed(expression, &allowed), "{expression}");
        }
    }
}
