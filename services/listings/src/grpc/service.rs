//! Every rpc: its caller and message are passed to the interface's method of the same name.

use tonic::{Request, Response, Status};

use crate::api::Api;
use crate::caller::Caller;
use crate::proto;
use crate::proto::listings_service_server::ListingsService;

/// The implementation of the rpcs.
pub(super) struct Rpcs {
    pub(super) api: Api,
}

/// The caller. Only the middleware adds it to a request.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| Status::unauthenticated("the caller is not identified"))
}

macro_rules! rpcs {
    ($($rpc:ident => $method:ident($request:ty) -> $response:ty;)*) => {
        #[tonic::async_trait]
        impl ListingsService for Rpcs {
            $(async fn $rpc(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                let caller = caller(&request)?;
                Ok(Response::new(self.api.$method(&caller, request.into_inner()).await?))
            })*
        }
    };
}

rpcs! {
    get_listing => get_listing(proto::GetListingRequest) -> proto::GetListingResponse;
    create_listing => create_listing(proto::CreateListingRequest) -> proto::CreateListingResponse;
    update_listing => update_listing(proto::UpdateListingRequest) -> proto::UpdateListingResponse;
    delete_listing => delete_listing(proto::DeleteListingRequest) -> proto::DeleteListingResponse;
    search_listings => search_listings(proto::SearchListingsRequest) -> proto::SearchListingsResponse;
    list_listings => list_listings(proto::ListListingsRequest) -> proto::ListListingsResponse;
    get_similar_listings =>
        get_similar_listings(proto::GetSimilarListingsRequest) -> proto::GetSimilarListingsResponse;
    get_root_categories => get_root_categories(()) -> proto::CategoriesResponse;
    get_all_categories => get_all_categories(()) -> proto::CategoriesResponse;
    get_popular_categories => get_popular_categories(proto::PopularCategoriesRequest) -> proto::CategoriesResponse;
    get_category => get_category(proto::CategoryIdRequest) -> proto::CategoryResponse;
    get_category_tree => get_category_tree(proto::CategoryIdRequest) -> proto::CategoryTreeResponse;
    get_favorited_users => get_favorited_users(proto::ListingIdRequest) -> proto::UserIDsResponse;
    add_to_favorites => add_to_favorites(proto::AddToFavoritesRequest) -> ();
    remove_from_favorites => remove_from_favorites(proto::RemoveFromFavoritesRequest) -> ();
    get_user_favorites => get_user_favorites(proto::GetUserFavoritesRequest) -> proto::GetUserFavoritesResponse;
    is_favorite => is_favorite(proto::IsFavoriteRequest) -> proto::IsFavoriteResponse;
    get_product => get_product(proto::GetProductRequest) -> proto::ProductResponse;
    get_products_by_sk_us => get_products_by_skus(proto::GetProductsBySkUsRequest) -> proto::ProductsResponse;
    get_products_by_i_ds => get_products_by_ids(proto::GetProductsByIDsRequest) -> proto::ProductsResponse;
    list_products => list_products(proto::ListProductsRequest) -> proto::ProductsResponse;
    get_product_stats => get_product_stats(proto::GetProductStatsRequest) -> proto::GetProductStatsResponse;
    increment_product_views => increment_product_views(proto::IncrementProductViewsRequest) -> ();
    decrement_stock => decrement_stock(proto::DecrementStockRequest) -> proto::DecrementStockResponse;
    rollback_stock => rollback_stock(proto::RollbackStockRequest) -> proto::RollbackStockResponse;
    check_stock_availability =>
        check_stock_availability(proto::CheckStockAvailabilityRequest) -> proto::CheckStockAvailabilityResponse;
    record_inventory_movement =>
        record_inventory_movement(proto::RecordInventoryMovementRequest) -> proto::RecordInventoryMovementResponse;
    batch_update_stock => batch_update_stock(proto::BatchUpdateStockRequest) -> proto::BatchUpdateStockResponse;
}
