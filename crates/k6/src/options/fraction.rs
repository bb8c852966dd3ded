//! Shares of a whole, without rounding.

/// A share of the whole, from 0 to 1, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fraction {
    pub(super) of: u64,
    pub(super) whole: u64,
}

pub(super) const ZERO: Fraction = Fraction { of: 0, whole: 1 };
pub(super) const ONE: Fraction = Fraction { of: 1, whole: 1 };

impl Fraction {
    /// `1/3`, `25%` or `0.25`; none if it is something else, or outside 0 to 1.
    pub(super) fn parse(text: &str) -> Option<Fraction> {
        let (of, whole) = if let Some((of, whole)) = text.split_once('/') {
            (of.parse().ok()?, whole.parse().ok()?)
        } else {
            let (decimal, scale) = match text.strip_suffix('%') {
                Some(percent) => (percent, 100),
                None => (text, 1),
            };
            let (whole, digits) = decimal.split_once('.').unwrap_or((decimal, ""));
            if digits.len() > 9 {
                return None;
            }
            (format!("{whole}{digits}").parse().ok()?, 10u64.pow(digits.len() as u32) * scale)
        };
        let divisor = greatest_common_divisor(of, whole);
        (whole > 0 && of <= whole).then(|| Fraction { of: of / divisor, whole: whole / divisor })
    }

    pub(super) fn is_below(self, other: Fraction) -> bool {
        u128::from(self.of) * u128::from(other.whole) < u128::from(other.of) * u128::from(self.whole)
    }
}

pub(super) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
