//! Every rpc with its time limit and its default rate limit.

use std::time::Duration;

use serde::Deserialize;

/// What identifies the caller when calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateLimitKey {
    /// The caller's address.
    Ip,
    /// The user in the caller's token; without tokens, the address.
    User,
}

/// How often each caller may call a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodLimit {
    /// Calls in any minute.
    pub per_minute: u32,
    /// What identifies the caller.
    pub key: RateLimitKey,
}

/// One rpc.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its path.
    pub path: &'static str,
    /// The time after which a call ends with `DEADLINE_EXCEEDED`.
    pub timeout: Duration,
    /// The default rate limit.
    pub limit: MethodLimit,
}

macro_rules! methods {
    ($($name:literal, $timeout_s:literal, $per_minute:literal, $key:ident;)*) => {
        /// All rpcs.
        pub const METHODS: &[Method] = &[$(Method {
            name: $name,
            path: concat!("/listingssvc.v1.ListingsService/", $name),
            timeout: Duration::from_secs($timeout_s),
            limit: MethodLimit { per_minute: $per_minute, key: RateLimitKey::$key },
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
    use prost::Message;

    use super::*;
    use crate::proto::{DESCRIPTORS, SERVICE_NAMES};

    #[test]
    fn every_rpc_is_in_the_table_under_both_service_names() {
        let set = prost_types::FileDescriptorSet::decode(DESCRIPTORS).unwrap();
        for package in SERVICE_NAMES.map(|name| name.trim_end_matches(".ListingsService")) {
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
