//! Prices: exact decimals with two places; doubles only in messages.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Fifteen digits, two of them after the point.
const MAX_HUNDREDTHS: i64 = 999_999_999_999_999;

/// An amount of money in hundredths of its currency, from 0 to 9,999,999,999,999.99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Price(i64);

/// Why a number is not a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// NaN or infinite.
    #[error("it must be a number")]
    NotANumber,
    /// Below zero.
    #[error("it must not be negative")]
    Negative,
    /// More than fifteen digits.
    #[error("it must be at most 9999999999999.99")]
    TooLarge,
    /// More than two places after the point.
    #[error("it must have at most two decimal places")]
    TooFine,
}

impl Price {
    /// From hundredths, as databases store them; values out of range are clamped.
    #[must_use]
    pub fn from_hundredths(hundredths: i64) -> Self {
        Self(hundredths.clamp(0, MAX_HUNDREDTHS))
    }

    #[must_use]
    pub fn hundredths(self) -> i64 {
        self.0
    }

    /// The decimal in the shortest text of this double, for example exactly 19.99.
    ///
    /// # Errors
    /// When that is not a price.
    pub fn from_f64(double: f64) -> Result<Self, PriceError> {
        if !double.is_finite() {
            return Err(PriceError::NotANumber);
        }
        if double < 0.0 {
            return Err(PriceError::Negative);
        }
        if double >= 1e13 {
            return Err(PriceError::TooLarge);
        }
        let text = format!("{double}");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        if fraction.len() > 2 {
            return Err(PriceError::TooFine);
        }
        let digits = format!("{}{fraction:0<2}", whole.trim_start_matches('-'));
        digits.parse().map(Self).map_err(|_| PriceError::TooLarge)
    }

    /// The double nearest to it.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        hundredths_to_f64(self.0.into())
    }
}

/// The double nearest to a sum of prices in hundredths.
#[must_use]
pub fn hundredths_to_f64(hundredths: i128) -> f64 {
    // Both operands are integers: below 2^53 the quotient is the nearest double; beyond, no double is exact.
    hundredths as f64 / 100.0
}

/// With two places, for example `19.90`.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_prices_are_refused_with_the_reason() {
        for (double, error) in [
            (f64::NAN, PriceError::NotANumber),
            (f64::INFINITY, PriceError::NotANumber),
            (-0.01, PriceError::Negative),
            (1e13, PriceError::TooLarge),
            (f64::MAX, PriceError::TooLarge),
            (19.999, PriceError::TooFine),
            (0.1 + 0.2, PriceError::TooFine),
            (f64::MIN_POSITIVE, PriceError::TooFine),
        ] {
            assert_eq!(Price::from_f64(double), Err(error), "{double}");
        }
        assert_eq!(Price::from_f64(-0.0), Ok(Price(0)));
        assert_eq!(Price::from_f64(9_999_999_999_999.99), Ok(Price(MAX_HUNDREDTHS)));
        assert_eq!(Price(1_990).to_string(), "19.90");
    }

    proptest! {
        #[test]
        fn a_price_round_trips_through_a_double_exactly(hundredths in 0..=MAX_HUNDREDTHS) {
            let price = Price(hundredths);
            prop_assert_eq!(Price::from_f64(price.to_f64()), Ok(price));
        }
    }
}
