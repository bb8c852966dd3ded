//! What a cached answer depends on. Each depends on one scope, and each write names every scope that it touches.

use std::fmt;

/// Something that is forgotten as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One listing.
    Listing(i64),
    /// A storefront's sums.
    Stats(i64),
    /// The categories with their numbers of listings.
    Categories,
    /// Lists without an owner or a category.
    All,
    /// Lists of one user's.
    OfUser(i64),
    /// Lists of one storefront's.
    OfStorefront(i64),
    /// Lists of one category.
    OfCategory(i64),
    /// What is for sale of one category, by price.
    Offers(i64),
    /// Searches for this word.
    Word(String),
    /// Products of one stock-keeping unit.
    Sku(String),
}

impl Scope {
    /// The kind, for metrics.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Listing(_) => Kind::Listing,
            Self::Stats(_) => Kind::Stats,
            Self::Categories => Kind::Categories,
            Self::Offers(_) => Kind::Similar,
            Self::Word(_) => Kind::Search,
            Self::All | Self::OfUser(_) | Self::OfStorefront(_) | Self::OfCategory(_) | Self::Sku(_) => {
                Kind::List
            }
        }
    }
}

/// Kinds of cached answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of listings and products.
    Listing,
    /// Of sums.
    Stats,
    /// Of categories.
    Categories,
    /// Of lists.
    List,
    /// Of what is like a listing.
    Similar,
    /// Of searches.
    Search,
}

impl Kind {
    /// All of them, each at its place.
    pub const ALL: [Self; 6] =
        [Self::Listing, Self::Stats, Self::Categories, Self::List, Self::Similar, Self::Search];

    /// Its name in the metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Stats => "stats",
            Self::Categories => "categories",
            Self::List => "list",
            Self::Similar => "similar",
            Self::Search => "search",
        }
    }
}

/// As a key that no other scope has.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listing(id) => write!(f, "listing:{id}"),
            Self::Stats(id) => write!(f, "stats:{id}"),
            Self::Categories => f.write_str("categories"),
            Self::All => f.write_str("list"),
            Self::OfUser(id) => write!(f, "list:user:{id}"),
            Self::OfStorefront(id) => write!(f, "list:storefront:{id}"),
            Self::OfCategory(id) => write!(f, "list:category:{id}"),
            Self::Offers(id) => write!(f, "offers:category:{id}"),
            Self::Word(word) => write!(f, "search:{word}"),
            Self::Sku(sku) => write!(f, "sku:{sku}"),
        }
    }
}
