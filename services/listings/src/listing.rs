//! A listing: the row that both stores keep, and its contribution to statistics.

use std::collections::{BTreeMap, BTreeSet};

use kit::clock::UtcMs;
use serde::{Deserialize, Serialize};

use crate::price::Price;
use crate::stats::StorefrontStats;
use crate::words::words_of;

/// The highest stock that counts as low.
pub const LOW_STOCK: i32 = 5;

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The name in messages and databases.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant with this name.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

named_enum! {
    Status {
        /// Not published yet.
        Draft = "draft",
        /// For sale: searches find it.
        Active = "active",
        /// Withdrawn for a while.
        Inactive = "inactive",
        Sold = "sold",
        /// Kept for the record.
        Archived = "archived",
    }
}

named_enum! {
    /// Users who may see a listing.
    Visibility {
        /// All users.
        Public = "public",
        /// Its owner.
        Private = "private",
        /// Users with its id.
        Unlisted = "unlisted",
    }
}

/// A picture of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub id: i64,
    pub url: String,
    /// Its position among the listing's images.
    pub display_order: i32,
    /// Whether it is the main image.
    pub is_primary: bool,
}

/// Title and description in one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Translation {
    pub title: String,
    /// The description; may be empty.
    pub description: String,
}

/// A listing; with a storefront it is a product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Assigned in the order of creation.
    pub id: i64,
    /// RFC 9562, as text.
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
    pub category_id: i64,
    pub status: Status,
    /// Users who may see it.
    pub visibility: Visibility,
    /// In stock; never negative.
    pub quantity: i32,
    /// Stock-keeping unit.
    pub sku: Option<String>,
    /// Number of views.
    pub views: i32,
    /// Users who have it as a favourite.
    pub favorites: i32,
    /// Units sold by orders.
    pub sold: i32,
    pub created_at: UtcMs,
    /// When it was last changed by its owner, an order or a movement of stock.
    pub updated_at: UtcMs,
    /// When it was first active.
    pub published_at: Option<UtcMs>,
    /// When it was deleted; it is not shown since.
    pub deleted_at: Option<UtcMs>,
    /// By language.
    pub translations: BTreeMap<String, Translation>,
    /// The language of title and description.
    pub original_language: String,
    /// In their order.
    pub images: Vec<Image>,
    /// In the order in which its owner gave them.
    pub tags: Vec<String>,
}

impl Listing {
    /// Whether a user may see it: drafts and private listings are their owner's.
    #[must_use]
    pub fn is_visible_to(&self, user_id: i64) -> bool {
        let is_hidden = self.status == Status::Draft || self.visibility == Visibility::Private;
        !is_hidden || self.user_id == user_id
    }

    /// Whether searches find it.
    #[must_use]
    pub fn is_searchable(&self) -> bool {
        self.deleted_at.is_none() && self.status == Status::Active && self.visibility == Visibility::Public
    }

    /// The words by which searches find it; empty when they do not.
    #[must_use]
    pub fn search_words(&self) -> BTreeSet<String> {
        if !self.is_searchable() {
            return BTreeSet::new();
        }
        let texts = [self.title.as_str(), self.description.as_deref().unwrap_or_default()];
        words_of(texts.into_iter().chain(self.tags.iter().map(String::as_str)))
    }

    /// Its storefront and its contribution to the statistics there; `None` without a storefront, or when it was
    /// deleted.
    #[must_use]
    pub fn contribution(&self) -> Option<(i64, StorefrontStats)> {
        if self.deleted_at.is_some() {
            return None;
        }
        let one_if = |holds: bool| i64::from(holds);
        let stats = StorefrontStats {
            total: 1,
            active: one_if(self.status == Status::Active),
            out_of_stock: one_if(self.quantity == 0),
            low_stock: one_if((1..=LOW_STOCK).contains(&self.quantity)),
            value: i128::from(self.price.hundredths()) * i128::from(self.quantity),
            sold: i64::from(self.sold),
        };
        self.storefront_id.map(|storefront| (storefront, stats))
    }

    /// The tags as databases keep them; `None` without any.
    #[must_use]
    pub fn tags_json(&self) -> Option<String> {
        let has_tags = !self.tags.is_empty();
        has_tags.then(|| serde_json::to_string(&self.tags).unwrap_or_default())
    }

    /// The stock status as messages name it.
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
        price: Price::from_hundredths(1_999),
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
        tags: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_listing_contributes_nothing_and_has_no_search_words() {
        let existing = example(1);
        let (storefront, stats) = existing.contribution().unwrap();
        assert_eq!((storefront, stats.total, stats.active, stats.value), (3, 1, 1, 19_990));
        assert_eq!(existing.search_words().into_iter().collect::<Vec<_>>(), ["bike", "red"]);
        let deleted = Listing { deleted_at: Some(UtcMs(1)), ..existing };
        assert_eq!(deleted.contribution(), None);
        assert!(deleted.search_words().is_empty());
    }

    #[test]
    fn stock_is_out_at_zero_and_low_up_to_five() {
        let status = |quantity| Listing { quantity, ..example(1) }.stock_status();
        assert_eq!([0, 1, 5, 6].map(status), ["out_of_stock", "low_stock", "low_stock", "in_stock"]);
    }
}
