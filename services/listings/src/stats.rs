//! Statistics over a storefront's products. They are stored, and every write updates them in its own transaction:
//! reading them costs one row, whatever the number of products.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Statistics over products, or a difference between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StorefrontStats {
    /// Products that are not deleted.
    pub total: i64,
    /// Products with the status active.
    pub active: i64,
    /// Products with no stock.
    pub out_of_stock: i64,
    /// Products with a stock of one to five.
    pub low_stock: i64,
    /// The sum of price times quantity, in hundredths of the currency.
    #[serde(with = "as_text")]
    pub value: i128,
    /// Units sold by orders.
    pub sold: i64,
}

impl StorefrontStats {
    /// Whether every value is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl Add for StorefrontStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            active: self.active + other.active,
            out_of_stock: self.out_of_stock + other.out_of_stock,
            low_stock: self.low_stock + other.low_stock,
            value: self.value + other.value,
            sold: self.sold + other.sold,
        }
    }
}

impl Sub for StorefrontStats {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self {
            total: -other.total,
            active: -other.active,
            out_of_stock: -other.out_of_stock,
            low_stock: -other.low_stock,
            value: -other.value,
            sold: -other.sold,
        }
    }
}

/// Most readers of JSON have no integers of this size.
mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &i128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_values_round_trip_through_json() {
        let stats = StorefrontStats { value: i128::from(i64::MAX) * 4, ..StorefrontStats::default() };
        let text = serde_json::to_string(&stats).unwrap();
        assert_eq!(serde_json::from_str::<StorefrontStats>(&text).unwrap(), stats);
        assert!((stats - stats).is_zero());
    }
}
