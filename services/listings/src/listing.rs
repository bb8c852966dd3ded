//! What a listing is: the row that both stores keep, and what it counts for.

use crate::price::Price;
use crate::stats::Stats;
use crate::words::words_of;
use kit::clock::UtcMs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// So many or fewer left is low stock.
pub const LOW_STOCK: i32 = 5;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The word that clients and databases know it by.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one of this word.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// Where a listing stands.
    Status {
        /// Not shown yet.
        Draft = "draft",
        /// For sale: what searches find.
        Active = "active",
        /// Taken out for a while.
        Inactive = "inactive",
        /// Sold.
        Sold = "sold",
        /// Kept for the record.
        Archived = "archived",
    }
}

words! {
    /// Who may see a listing.
    Visibility {
        /// Everybody.
        Public = "public",
        /// Its owner.
        Private = "private",
        /// Whoever has its id.
        Unlisted = "unlisted",
    }
}

/// A picture of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its own id.
    pub id: i64,
    /// Where it is.
    pub url: String,
    /// Its place among the listing's images.
    pub display_order: i32,
    /// Whether it stands for the listing.
    pub is_primary: bool,
}

/// Title and description in one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Translation {
    /// The title.
    pub title: String,
    /// The description; may be empty.
    pub description: String,
}

/// A listing, which with a storefront is a product of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Given in the order of creation.
    pub id: i64,
    /// RFC 9562 text.
    pub uuid: String,
    /// Its owner.
    pub user_id: i64,
    /// The storefront whose product it is.
    pub storefront_id: Option<i64>,
    /// 3 to 255 characters.
    pub title: String,
    /// At most 5,000 characters.
    pub description: Option<String>,
    /// Above zero.
    pub price: Price,
    /// Three capital letters.
    pub currency: String,
    /// One of the categories.
    pub category_id: i64,
    /// Where it stands.
    pub status: Status,
    /// Who may see it.
    pub visibility: Visibility,
    /// In stock; never negative.
    pub quantity: i32,
    /// Stock-keeping unit.
    pub sku: Option<String>,
    /// Times it was looked at.
    pub views: i32,
    /// Users who marked it.
    pub favorites: i32,
    /// Taken out of stock by orders.
    pub sold: i32,
    /// When it was made.
    pub created_at: UtcMs,
    /// When it was last changed by its owner, an order or a movement of stock.
    pub updated_at: UtcMs,
    /// When it was first active.
    pub published_at: Option<UtcMs>,
    /// When it was taken away; nobody is shown it since.
    pub deleted_at: Option<UtcMs>,
    /// By language.
    pub translations: BTreeMap<String, Translation>,
    /// The language of title and description.
    pub original_language: String,
    /// In their order.
    pub images: Vec<Image>,
}

impl Listing {
    /// Whether searches find it.
    #[must_use]
    pub fn is_searchable(&self) -> bool {
        self.deleted_at.is_none() && self.status == Status::Active && self.visibility == Visibility::Public
    }

    /// The words that searches find it by; empty when they do not.
    #[must_use]
    pub fn search_words(&self) -> BTreeSet<String> {
        if !self.is_searchable() {
            return BTreeSet::new();
        }
        words_of([self.title.as_str(), self.description.as_deref().unwrap_or_default()])
    }

    /// What it adds to its storefront's sums: nothing without a storefront, or when it was deleted.
    #[must_use]
    pub fn counts_for(&self) -> Option<(i64, Stats)> {
        if self.deleted_at.is_some() {
            return None;
        }
        let one_if = |holds: bool| i64::from(holds);
        let stats = Stats {
            total: 1,
            active: one_if(self.status == Status::Active),
            out_of_stock: one_if(self.quantity == 0),
            low_stock: one_if((1..=LOW_STOCK).contains(&self.quantity)),
            value: i128::from(self.price.hundredths()) * i128::from(self.quantity),
            sold: i64::from(self.sold),
        };
        self.storefront_id.map(|storefront| (storefront, stats))
    }

    /// The word for how much is left.
    #[must_use]
    pub fn stock_status(&self) -> &'static str {
        match self.quantity {
            ..=0 => "out_of_stock",
            1..=LOW_STOCK => "low_stock",
            _ => "in_stock",
        }
    }
}

#[cfg(test)]
pub(crate) fn example(id: i64) -> Listing {
    Listing {
        id,
        uuid: String::new(),
        user_id: 7,
        storefront_id: Some(3),
        title: "Red bike".to_owned(),
        description: None,
        price: Price::of_hundredths(1_999),
        currency: "RSD".to_owned(),
        category_id: 1,
        status: Status::Active,
        visibility: Visibility::Public,
        quantity: 10,
        sku: None,
        views: 0,
        favorites: 0,
        sold: 0,
        created_at: UtcMs(0),
        updated_at: UtcMs(0),
        published_at: None,
        deleted_at: None,
        translations: BTreeMap::new(),
        original_language: "sr".to_owned(),
        images: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_counts_for_nothing_and_is_found_by_no_word() {
        let there = example(1);
        let (storefront, stats) = there.counts_for().unwrap();
        assert_eq!((storefront, stats.total, stats.active, stats.value), (3, 1, 1, 19_990));
        assert_eq!(there.search_words().into_iter().collect::<Vec<_>>(), ["bike", "red"]);
        let gone = Listing { deleted_at: Some(UtcMs(1)), ..there };
        assert_eq!(gone.counts_for(), None);
        assert!(gone.search_words().is_empty());
    }

    #[test]
    fn stock_is_out_at_none_and_low_up_to_five() {
        let status = |quantity| Listing { quantity, ..example(1) }.stock_status();
        assert_eq!([0, 1, 5, 6].map(status), ["out_of_stock", "low_stock", "low_stock", "in_stock"]);
    }
}
