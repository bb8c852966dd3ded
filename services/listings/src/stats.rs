//! The sums over a storefront's products. They are kept, and moved by every write in its own transaction, so that
//! reading them costs one row however many products there are.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// Sums over products, or by how much they move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Products that were not deleted.
    pub total: i64,
    /// Of these, for sale.
    pub active: i64,
    /// With nothing left.
    pub out_of_stock: i64,
    /// With one to five left.
    pub low_stock: i64,
    /// Price times quantity, in hundredths.
    #[serde(with = "as_text")]
    pub value: i128,
    /// Taken out of stock by orders.
    pub sold: i64,
}

impl Stats {
    /// Whether nothing is in them, or nothing moves.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl Add for Stats {
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

impl Sub for Stats {
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

/// JSON has no integers of this size.
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
    fn the_largest_sums_survive_json() {
        let stats = Stats { value: i128::from(i64::MAX) * 4, ..Stats::default() };
        let text = serde_json::to_string(&stats).unwrap();
        assert_eq!(serde_json::from_str::<Stats>(&text).unwrap(), stats);
        assert!((stats - stats).is_zero());
    }
}
