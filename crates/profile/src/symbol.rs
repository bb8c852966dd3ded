//! Names of functions as in the source, for profiles with mangled symbols.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Longer names are shown as they are: a symbol can expand to a million times its own length.
const MAX_LENGTH: usize = 4_096;
/// The suffix that perf adds to an inlined function.
const INLINED: &str = " (inlined)";

/// The path of a Rust symbol, without the hash that differs from build to build; any other name unchanged.
pub(crate) fn shown(symbol: &str) -> Cow<'_, str> {
    let (name, mark) = match symbol.strip_suffix(INLINED) {
        Some(name) => (name, INLINED),
        None => (symbol, ""),
    };
    let Ok(path) = rustc_demangle::try_demangle(name) else { return Cow::Borrowed(symbol) };
    let mut bounded = Bounded(String::new());
    match write!(bounded, "{path:#}{mark}") {
        Ok(()) => Cow::Owned(bounded.0),
        Err(_) => Cow::Borrowed(symbol),
    }
}

struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn symbols_of_rust_become_paths_and_others_are_unchanged() {
        assert_eq!(shown("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(shown("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(shown("_ZN4core3fmt5write17h0123456789abcdefE (inlined)"), "core::fmt::write (inlined)");
        for name in ["main.work", "_int_malloc", "_ZN", "_R", "", "operator new(unsigned long)", "_Z3foov"] {
            assert_eq!(shown(name), name);
        }
    }

    #[test]
    fn a_symbol_that_expands_without_bound_is_shown_as_it_is() {
        // Each type is a pair of the one before: 2 to the power of 40 of them.
        let mut bomb = "_RIC0Tu".to_owned();
        for _ in 0..40 {
            let back = bomb.len() - 2;
            bomb.push_str(&format!("TB{}_B{}_E", base62(back), base62(back)));
        }
        assert!(shown(&bomb).len() <= MAX_LENGTH.max(bomb.len()));
    }

    fn base62(number: usize) -> String {
        const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let digit = |n: usize| char::from(DIGITS[n]);
        let number = number.saturating_sub(1);
        if number < 62 {
            digit(number).to_string()
        } else {
            format!("{}{}", digit(number / 62 % 62), digit(number % 62))
        }
    }

    proptest! {
        #[test]
        fn any_symbol_is_shown_within_bounds(name in "(_ZN|_R|)[0-9a-zA-Z_.$]{0,80}") {
            prop_assert!(shown(&name).len() <= MAX_LENGTH.max(name.len()));
        }
    }
}
