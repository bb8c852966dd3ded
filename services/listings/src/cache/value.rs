//! Answers as the cache holds them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::categories::Category;
use crate::find::Page;
use crate::listing::Listing;
use crate::stats::StorefrontStats;

/// An answer of the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CachedValue {
    /// It does not exist.
    Nothing,
    Listing(Arc<Listing>),
    /// A storefront's statistics.
    Stats(StorefrontStats),
    /// A storefront's owner.
    Owner(Option<i64>),
    /// Listings found.
    Page(Arc<Page>),
    Categories(Arc<Vec<Category>>),
}

impl CachedValue {
    /// Its approximate size in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Nothing | Self::Owner(_) => 32,
            Self::Stats(_) => 128,
            Self::Page(page) => 64 + page.ids.len() * 8,
            Self::Categories(all) => all.iter().map(Category::weight).sum(),
            Self::Listing(listing) => {
                let texts = listing.title.len() + listing.description.as_ref().map_or(0, String::len);
                let images: usize = listing.images.iter().map(|image| 80 + image.url.len()).sum();
                let translation = |t: &crate::listing::Translation| 96 + t.title.len() + t.description.len();
                let tags: usize = listing.tags.iter().map(|tag| 24 + tag.len()).sum();
                512 + texts + images + tags + listing.translations.values().map(translation).sum::<usize>()
            }
        }
    }
}
