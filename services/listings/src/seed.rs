//! A marketplace for benchmarks: a given number of listings and storefronts, the same every time, and a sample of them
//! with a skewed popularity.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use crate::listing::Visibility;
use crate::price::Price;
use crate::store::{Store, WriteError};
use crate::write::{NewListing, Write};

/// Writes in flight: enough for large groups, few enough to bound memory.
const WRITES_IN_FLIGHT: usize = 2_000;

const COLORS: [&str; 12] = [
    "Red", "Blue", "Green", "Black", "White", "Yellow", "Silver", "Golden", "Brown", "Purple", "Orange",
    "Grey",
];
const QUALITIES: [&str; 10] =
    ["new", "used", "vintage", "rare", "cheap", "solid", "light", "compact", "handmade", "classic"];
const THINGS: [&str; 25] = [
    "bike", "lamp", "desk", "chair", "phone", "laptop", "camera", "guitar", "jacket", "boots", "tent",
    "drill", "kettle", "mirror", "helmet", "speaker", "novel", "sofa", "carpet", "clock", "racket", "skis",
    "mixer", "tyres", "stroller",
];

/// The size of the marketplace.
#[derive(Debug, Clone, Copy)]
pub struct SeedSize {
    /// Number of listings.
    pub listings: u32,
    /// Number of storefronts; listings are spread over them evenly.
    pub storefronts: u32,
}

/// Mixes the bits of a number (splitmix64), so that neighbouring numbers give unrelated results.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn pick<T: Copy>(choices: &[T], number: u64) -> T {
    // The remainder is below the number of choices.
    choices[usize::try_from(number % choices.len() as u64).unwrap_or_default()]
}

/// The listing with this number; the first is 1.
fn listing(number: u32, size: SeedSize) -> NewListing {
    let random = mixed(number.into());
    let storefront = i64::from((number - 1) % size.storefronts.max(1) + 1);
    let (color, quality, thing) =
        (pick(&COLORS, random), pick(&QUALITIES, random >> 8), pick(&THINGS, random >> 16));
    let hundredths = i64::try_from(random % 5_000_000).unwrap_or_default() + 100;
    NewListing {
        user_id: storefront,
        storefront_id: Some(storefront),
        title: format!("{color} {quality} {thing} {number}"),
        description: Some(format!("A {quality} {thing} in {}, to be fetched or sent.", color.to_lowercase())),
        price: Price::from_hundredths(hundredths),
        currency: "RSD".to_owned(),
        category_id: i64::try_from(random % 20).unwrap_or_default() + 7,
        quantity: i32::try_from(random % 50).unwrap_or_default(),
        sku: Some(format!("SKU-{number}")),
        translations: BTreeMap::new(),
        original_language: "en".to_owned(),
        visibility: Visibility::Public,
        tags: Vec::new(),
        images: (0..2).map(|index| format!("https://img.example/{number}/{index}.jpg")).collect(),
        owner: None,
    }
}

/// Fills a store. In an empty store with one writer the listings get the ids from 1.
///
/// # Errors
/// When a write fails.
pub async fn fill(store: &Store, size: SeedSize) -> Result<(), WriteError> {
    let mut writing = VecDeque::new();
    for number in 1..=size.listings {
        writing.push_back(Box::pin(store.submit(Write::Create(Box::new(listing(number, size))))?));
        if writing.len() >= WRITES_IN_FLIGHT
            && let Some(first) = writing.pop_front()
        {
            first.await?;
        }
    }
    for one in writing {
        one.await?;
    }
    Ok(())
}

/// A sample of the listings as CSV: a listing is in it as often as its popularity demands. The listing of rank r is
/// sampled 1/r times as often as the first (Zipf's law, exponent 1); ranks are assigned in a mixed order.
#[must_use]
pub fn popularity(size: SeedSize, rows: u32) -> String {
    let mut out = "listing,storefront,user,thing\n".to_owned();
    let harmonic: f64 = (1..=size.listings).map(|rank| 1.0 / f64::from(rank)).sum();
    let (mut reached, mut rank) = (0.0, 0);
    for row in 0..rows {
        let target = (f64::from(row) + 0.5) / f64::from(rows) * harmonic;
        while reached < target && rank < size.listings {
            rank += 1;
            reached += 1.0 / f64::from(rank);
        }
        let number = mixed(rank.into()) % u64::from(size.listings.max(1)) + 1;
        let storefront = (number - 1) % u64::from(size.storefronts.max(1)) + 1;
        let thing = pick(&THINGS, mixed(number) >> 16);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{number},{storefront},{},{thing}", mixed(row.into()) % 10_000 + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn popularity_is_skewed_and_every_row_names_an_existing_listing() {
        let size = SeedSize { listings: 100_000, storefronts: 1_000 };
        let table = popularity(size, 5_000);
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        for row in table.lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let (id, storefront): (u64, u64) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
            assert!((1..=100_000).contains(&id) && storefront == (id - 1) % 1_000 + 1);
            assert!(listing(id as u32, size).title.contains(cells[3]), "{row}");
            *times.entry(id).or_default() += 1;
        }
        let most = times.values().max().unwrap();
        assert!((350..=450).contains(most), "{most}");
        assert!(times.len() > 1_500, "{} listings", times.len());
    }

    #[test]
    fn the_table_of_the_example_plans_is_up_to_date() {
        let size = SeedSize { listings: 100_000, storefronts: 1_000 };
        let committed = include_str!("../../../examples/listings/popular.csv");
        assert!(popularity(size, 5_000) == committed, "write it again: listings popularity");
    }
}
