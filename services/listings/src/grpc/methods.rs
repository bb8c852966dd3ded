//! Every rpc with what stands around it: how long it may take, and how often it may be called, as long as no table of
//! limits says otherwise.

use std::time::Duration;

/// By what callers of an rpc are told apart when they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// The address that they call from.
    Ip,
    /// The user that their token names; the address where there are no tokens.
    User,
}

/// One rpc.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its path.
    pub path: &'static str,
    /// The longest that it may take.
    pub within: Duration,
    /// Calls a minute.
    pub per_minute: u32,
    /// Of whom.
    pub by: By,
}

macro_rules! methods {
    ($($name:literal, $within_s:literal, $per_minute:literal, $by:ident;)*) => {
        /// All of them.
        pub const METHODS: &[Method] = &[$(Method {
            name: $name,
            path: concat!("/listingssvc.v1.ListingsService/", $name),
            within: Duration::from_secs($within_s),
            per_minute: $per_minute,
            by: By::$by,
        },)*];
    };
}

methods! {
    "GetListing", 5, 200, Ip;
    "CreateListing", 10, 50, User;
    "UpdateListing", 10, 50, User;
    "DeleteListing", 15, 20, User;
    "SearchListings", 8, 300, Ip;
    "ListListings", 5, 200, Ip;
    "GetSimilarListings", 30, 100, Ip;
    "GetRootCategories", 30, 100, Ip;
    "GetAllCategories", 30, 100, Ip;
    "GetPopularCategories", 30, 100, Ip;
    "GetCategory", 30, 100, Ip;
    "GetCategoryTree", 30, 100, Ip;
    "GetFavoritedUsers", 30, 100, Ip;
    "AddToFavorites", 30, 100, Ip;
    "RemoveFromFavorites", 30, 100, Ip;
    "GetUserFavorites", 30, 100, Ip;
    "IsFavorite", 30, 100, Ip;
    "GetProduct", 30, 100, Ip;
    "GetProductsBySKUs", 30, 100, Ip;
    "GetProductsByIDs", 30, 100, Ip;
    "ListProducts", 30, 100, Ip;
    "GetProductStats", 5, 300, Ip;
    "IncrementProductViews", 3, 100, Ip;
    "DecrementStock", 30, 100, Ip;
    "RollbackStock", 30, 100, Ip;
    "CheckStockAvailability", 30, 100, Ip;
    "RecordInventoryMovement", 8, 50, User;
    "BatchUpdateStock", 20, 20, User;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{DESCRIPTORS, NAMES};
    use prost::Message;

    #[test]
    fn every_rpc_of_the_service_is_here_under_either_name() {
        let set = prost_types::FileDescriptorSet::decode(DESCRIPTORS).unwrap();
        for package in NAMES.map(|name| name.trim_end_matches(".ListingsService")) {
            let files = set.file.iter().filter(|file| file.package() == package);
            let services = files.flat_map(|file| &file.service);
            let mut declared: Vec<&str> =
                services.flat_map(|service| &service.method).map(|method| method.name()).collect();
            let mut known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            declared.sort_unstable();
            known.sort_unstable();
            assert_eq!(declared, known, "{package}");
        }
    }
}
