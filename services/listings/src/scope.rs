//! What a cached answer depends on. Each answer depends on one scope; each write invalidates every scope that it
//! affects.

use std::fmt;

/// A unit of cache invalidation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheScope {
    Listing(i64),
    /// A storefront's statistics.
    Stats(i64),
    /// The categories with their numbers of listings.
    Categories,
    /// Lists without a filter on owner, storefront or category.
    All,
    /// Lists of one user.
    OfUser(i64),
    /// Lists of one storefront.
    OfStorefront(i64),
    /// Lists of one category.
    OfCategory(i64),
    /// Active listings of one category, by price.
    Offers(i64),
    /// Searches for this word.
    Word(String),
    /// Products of one stock-keeping unit.
    Sku(String),
}

impl CacheScope {
    /// Whether its answers have counts whose changes do not invalidate it.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        matches!(self, Self::Listing(_))
    }

    /// The kind, for metrics.
    #[must_use]
    pub fn kind(&self) -> ScopeKind {
        match self {
            Self::Listing(_) => ScopeKind::Listing,
            Self::Stats(_) => ScopeKind::Stats,
            Self::Categories => ScopeKind::Categories,
            Self::Offers(_) => ScopeKind::Similar,
            Self::Word(_) => ScopeKind::Search,
            Self::All | Self::OfUser(_) | Self::OfStorefront(_) | Self::OfCategory(_) | Self::Sku(_) => {
                ScopeKind::List
            }
        }
    }
}

/// Kinds of cached answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// Of listings and products.
    Listing,
    /// Of statistics.
    Stats,
    Categories,
    List,
    /// Of similar listings.
    Similar,
    Search,
}

impl ScopeKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 6] =
        [Self::Listing, Self::Stats, Self::Categories, Self::List, Self::Similar, Self::Search];

    /// Its name in the metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

/// As a unique key.
impl fmt::Display for CacheScope {
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
