//! A marketplace to measure: so many listings over so many storefronts, the same every time; and which of them people
//! look at, a few of them often and most of them rarely.

use crate::price::Price;
use crate::store::{Store, WriteError};
use crate::write::{NewListing, Write};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

/// Writes on their way at once: enough for large groups, few enough for memory.
const TOGETHER: usize = 2_000;

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

/// How much there is to be.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Listings in all.
    pub listings: u32,
    /// Storefronts that they are spread over evenly.
    pub storefronts: u32,
}

/// Mixes the bits of a number, so that neighbours have nothing in common.
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

/// The listing of a number, from 1.
fn listing(number: u32, counts: Counts) -> NewListing {
    let random = mixed(number.into());
    let storefront = i64::from((number - 1) % counts.storefronts.max(1) + 1);
    let (color, quality, thing) =
        (pick(&COLORS, random), pick(&QUALITIES, random >> 8), pick(&THINGS, random >> 16));
    let hundredths = i64::try_from(random % 5_000_000).unwrap_or_default() + 100;
    NewListing {
        user_id: storefront,
        storefront_id: Some(storefront),
        title: format!("{color} {quality} {thing} {number}"),
        description: Some(format!("A {quality} {thing} in {}, to be fetched or sent.", color.to_lowercase())),
        price: Price::of_hundredths(hundredths),
        currency: "RSD".to_owned(),
        category_id: i64::try_from(random % 20).unwrap_or_default() + 7,
        quantity: i32::try_from(random % 50).unwrap_or_default(),
        sku: Some(format!("SKU-{number}")),
        translations: BTreeMap::new(),
        original_language: "en".to_owned(),
        images: (0..2).map(|place| format!("https://img.example/{number}/{place}.jpg")).collect(),
    }
}

/// Fills a store. An empty one that writes in order gives the listings the ids from 1.
///
/// # Errors
/// When the store does not take one of them.
pub async fn fill(store: &Store, counts: Counts) -> Result<(), WriteError> {
    let mut writing = VecDeque::new();
    for number in 1..=counts.listings {
        writing.push_back(Box::pin(store.begin(Write::Create(Box::new(listing(number, counts))))?));
        if writing.len() >= TOGETHER
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

/// A table of what people look at: as often as a listing stands in it, so often it is looked at. The listing of rank r
/// is looked at as often as 1/r of the first (Zipf's law); which listing has which rank is mixed.
#[must_use]
pub fn popularity(counts: Counts, rows: u32) -> String {
    let mut out = "listing,storefront,user,thing\n".to_owned();
    let harmonic: f64 = (1..=counts.listings).map(|rank| 1.0 / f64::from(rank)).sum();
    let (mut reached, mut rank) = (0.0, 0);
    for row in 0..rows {
        let wanted = (f64::from(row) + 0.5) / f64::from(rows) * harmonic;
        while reached < wanted && rank < counts.listings {
            rank += 1;
            reached += 1.0 / f64::from(rank);
        }
        let number = mixed(rank.into()) % u64::from(counts.listings.max(1)) + 1;
        let storefront = (number - 1) % u64::from(counts.storefronts.max(1)) + 1;
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
    fn a_few_are_looked_at_often_and_every_row_names_what_there_is() {
        let counts = Counts { listings: 100_000, storefronts: 1_000 };
        let table = popularity(counts, 5_000);
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        for row in table.lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let (id, storefront): (u64, u64) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
            assert!((1..=100_000).contains(&id) && storefront == (id - 1) % 1_000 + 1);
            assert!(listing(id as u32, counts).title.contains(cells[3]), "{row}");
            *times.entry(id).or_default() += 1;
        }
        let most = times.values().max().unwrap();
        assert!((350..=450).contains(most), "{most}");
        assert!(times.len() > 1_500, "{} listings", times.len());
    }

    #[test]
    fn the_table_beside_the_plans_is_this_one() {
        let counts = Counts { listings: 100_000, storefronts: 1_000 };
        let beside = include_str!("../../../examples/listings/popular.csv");
        assert!(popularity(counts, 5_000) == beside, "make it again: listings popularity");
    }
}
