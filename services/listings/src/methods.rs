//! Every operation of the interface, named after its rpc: who may call it, its time limit and its default rate limit,
//! the same over gRPC and HTTP.

use std::time::Duration;

use serde::Deserialize;

/// The longest request sets the stock of a thousand products.
pub const MAX_REQUEST_BYTES: usize = 256 * 1024;

/// The message to a caller whose call was ended by its time limit.
pub const TIMED_OUT: &str = "the deadline has passed; the operation may have been carried out";

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everyone: it reads what everyone may see.
    Public,
    /// Callers with a token, unless callers are not verified.
    Token,
}

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

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The name of its rpc.
    pub name: &'static str,
    /// The path of its rpc.
    pub path: &'static str,
    /// The time after which a call ends with `DEADLINE_EXCEEDED`.
    pub timeout: Duration,
    /// The default rate limit.
    pub limit: MethodLimit,
    /// Who may call it.
    pub access: Access,
}

macro_rules! methods {
    ($($name:literal, $timeout_s:literal, $per_minute:literal, $key:ident, $access:ident;)*) => {
        /// All operations.
        pub const METHODS: &[Method] = &[$(Method {
            name: $name,
            path: concat!("/listingssvc.v1.ListingsService/", $name),
            timeout: Duration::from_secs($timeout_s),
            limit: MethodLimit { per_minute: $per_minute, key: RateLimitKey::$key },
            access: Access::$access,
        },)*];
    };
}

/// The operation with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

methods! {
    "GetListing", 5, 200, Ip, Public;
    "CreateListing", 10, 50, User, Token;
    "UpdateListing", 10, 50, User, Token;
    "DeleteListing", 15, 20, User, Token;
    "SearchListings", 8, 300, Ip, Public;
    "ListListings", 5, 200, Ip, Public;
    "GetSimilarListings", 30, 100, Ip, Public;
    "GetRootCategories", 30, 100, Ip, Public;
    "GetAllCategories", 30, 100, Ip, Public;
    "GetPopularCategories", 30, 100, Ip, Public;
    "GetCategory", 30, 100, Ip, Public;
    "GetCategoryTree", 30, 100, Ip, Public;
    "GetFavoritedUsers", 30, 100, Ip, Token;
    "AddToFavorites", 30, 100, Ip, Token;
    "RemoveFromFavorites", 30, 100, Ip, Token;
    "GetUserFavorites", 30, 100, Ip, Token;
    "IsFavorite", 30, 100, Ip, Token;
    "GetProduct", 30, 100, Ip, Public;
    "GetProductsBySKUs", 30, 100, Ip, Public;
    "GetProductsByIDs", 30, 100, Ip, Public;
    "ListProducts", 30, 100, Ip, Public;
    "GetProductStats", 5, 300, Ip, Token;
    "IncrementProductViews", 3, 100, Ip, Token;
    "DecrementStock", 30, 100, Ip, Token;
    "RollbackStock", 30, 100, Ip, Token;
    "CheckStockAvailability", 30, 100, Ip, Token;
    "RecordInventoryMovement", 8, 50, User, Token;
    "BatchUpdateStock", 20, 20, User, Token;
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
