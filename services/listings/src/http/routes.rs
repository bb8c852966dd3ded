//! Every route: its operation, and where its message comes from. The router is made of this table alone.

use std::pin::Pin;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::failure::Failure;
use super::input::Input;
use super::json;
use crate::api::Api;
use crate::caller::Caller;
use crate::proto;

/// The path of all routes.
pub const BASE: &str = "/api/v1/listings";

pub(super) type Handler =
    fn(Api, Caller, Input) -> Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

pub struct Route {
    /// The method that it takes.
    pub verb: Method,
    /// Its path below [`BASE`], with its ids in braces.
    pub path: &'static str,
    /// The rpc whose operation it is.
    pub rpc: &'static str,
    pub(super) handle: Handler,
}

/// The message of operations without one.
#[derive(Deserialize)]
struct NoFields {}

fn ok(message: &impl serde::Serialize) -> Response {
    json(StatusCode::OK, message)
}

fn done(_answer: ()) -> Response {
    StatusCode::NO_CONTENT.into_response()
}

fn rendered<A>(answer: A, render: impl FnOnce(A) -> Response) -> Response {
    render(answer)
}

macro_rules! routes {
    ($($verb:ident $path:literal $rpc:literal $call:ident($message:ident: $request:ty, $ids:ident)
        => $sent:expr => $render:expr;)*) => {
        pub const ROUTES: &[Route] = &[$(Route {
            verb: Method::$verb,
            path: $path,
            rpc: $rpc,
            handle: |api, caller, input| Box::pin(async move {
                let ($ids, $message) = (input.ids, input.message::<$request>()?);
                let _without_ids = $ids;
                let answer = api.$call(&caller, $sent).await?;
                Ok(rendered(answer, $render))
            }),
        },)*];
    };
}

routes! {
    GET "" "ListListings" list_listings(m: proto::ListListingsRequest, ids) => m => |a| ok(&a);
    POST "" "CreateListing" create_listing(m: proto::CreateListingRequest, ids)
        => m => |a| json(StatusCode::CREATED, &a.listing);
    GET "/search" "SearchListings" search_listings(m: proto::SearchListingsRequest, ids) => m => |a| ok(&a);
    GET "/{id}" "GetListing" get_listing(m: proto::GetListingRequest, ids)
        => proto::GetListingRequest { id: ids[0], ..m } => |a| ok(&a.listing);
    PATCH "/{id}" "UpdateListing" update_listing(m: proto::UpdateListingRequest, ids)
        => proto::UpdateListingRequest { id: ids[0], ..m } => |a| ok(&a.listing);
    DELETE "/{id}" "DeleteListing" delete_listing(m: proto::DeleteListingRequest, ids)
        => proto::DeleteListingRequest { id: ids[0], ..m } => |a| ok(&a);
    GET "/{id}/similar" "GetSimilarListings" get_similar_listings(m: proto::GetSimilarListingsRequest, ids)
        => proto::GetSimilarListingsRequest { listing_id: ids[0], ..m } => |a| ok(&a);
    GET "/{id}/favorites" "GetFavoritedUsers" get_favorited_users(_m: proto::ListingIdRequest, ids)
        => proto::ListingIdRequest { listing_id: ids[0] } => |a| ok(&a);
    GET "/{id}/favorites/{user_id}" "IsFavorite" is_favorite(_m: proto::IsFavoriteRequest, ids)
        => proto::IsFavoriteRequest { listing_id: ids[0], user_id: ids[1] } => |a| ok(&a);
    PUT "/{id}/favorites/{user_id}" "AddToFavorites" add_to_favorites(_m: proto::AddToFavoritesRequest, ids)
        => proto::AddToFavoritesRequest { listing_id: ids[0], user_id: ids[1] } => done;
    DELETE "/{id}/favorites/{user_id}" "RemoveFromFavorites"
        remove_from_favorites(_m: proto::RemoveFromFavoritesRequest, ids)
        => proto::RemoveFromFavoritesRequest { listing_id: ids[0], user_id: ids[1] } => done;
    GET "/favorites" "GetUserFavorites" get_user_favorites(m: proto::GetUserFavoritesRequest, ids)
        => m => |a| ok(&a);
    GET "/categories" "GetAllCategories" get_all_categories(m: NoFields, ids)
        => { let NoFields {} = m; } => |a| ok(&a);
    GET "/categories/roots" "GetRootCategories" get_root_categories(m: NoFields, ids)
        => { let NoFields {} = m; } => |a| ok(&a);
    GET "/categories/popular" "GetPopularCategories"
        get_popular_categories(m: proto::PopularCategoriesRequest, ids) => m => |a| ok(&a);
    GET "/categories/{id}" "GetCategory" get_category(_m: proto::CategoryIdRequest, ids)
        => proto::CategoryIdRequest { category_id: ids[0] } => |a| ok(&a.category);
    GET "/categories/{id}/tree" "GetCategoryTree" get_category_tree(_m: proto::CategoryIdRequest, ids)
        => proto::CategoryIdRequest { category_id: ids[0] } => |a| ok(&a.tree);
    GET "/products" "ListProducts" list_products(m: proto::ListProductsRequest, ids) => m => |a| ok(&a);
    POST "/products/by-ids" "GetProductsByIDs" get_products_by_ids(m: proto::GetProductsByIDsRequest, ids)
        => m => |a| ok(&a);
    POST "/products/by-skus" "GetProductsBySKUs" get_products_by_skus(m: proto::GetProductsBySkUsRequest, ids)
        => m => |a| ok(&a);
    GET "/products/{id}" "GetProduct" get_product(m: proto::GetProductRequest, ids)
        => proto::GetProductRequest { product_id: ids[0], ..m } => |a| ok(&a.product);
    POST "/products/{id}/views" "IncrementProductViews"
        increment_product_views(_m: proto::IncrementProductViewsRequest, ids)
        => proto::IncrementProductViewsRequest { product_id: ids[0] } => done;
    GET "/storefronts/{id}/stats" "GetProductStats" get_product_stats(_m: proto::GetProductStatsRequest, ids)
        => proto::GetProductStatsRequest { storefront_id: ids[0] } => |a| ok(&a.stats);
    POST "/stock/decrement" "DecrementStock" decrement_stock(m: proto::DecrementStockRequest, ids)
        => m => |a| ok(&a);
    POST "/stock/rollback" "RollbackStock" rollback_stock(m: proto::RollbackStockRequest, ids) => m => |a| ok(&a);
    POST "/stock/check" "CheckStockAvailability"
        check_stock_availability(m: proto::CheckStockAvailabilityRequest, ids) => m => |a| ok(&a);
    POST "/stock/movements" "RecordInventoryMovement"
        record_inventory_movement(m: proto::RecordInventoryMovementRequest, ids) => m => |a| ok(&a);
    POST "/stock/batch" "BatchUpdateStock" batch_update_stock(m: proto::BatchUpdateStockRequest, ids)
        => m => |a| ok(&a);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::routing::MethodFilter;

    use super::*;
    use crate::methods::METHODS;

    #[test]
    fn every_operation_has_one_route() {
        let routed: Vec<&str> = ROUTES.iter().map(|route| route.rpc).collect();
        let all: BTreeSet<&str> = METHODS.iter().map(|method| method.name).collect();
        assert_eq!(routed.iter().copied().collect::<BTreeSet<_>>(), all);
        assert_eq!(routed.len(), all.len());
        assert!(ROUTES.iter().all(|route| MethodFilter::try_from(route.verb.clone()).is_ok()));
    }
}
