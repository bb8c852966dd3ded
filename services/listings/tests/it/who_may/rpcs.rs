//! Every rpc, with requests that its callers may or may not make.

use listings::proto::listings_service_client::ListingsServiceClient;
use listings::proto::*;

use super::{Row, SKU, UNLISTED_SKU};
use crate::support::a_product;

macro_rules! rows {
    ($($rpc:literal, $with:literal, $method:ident($of:ident => $message:expr), $got:expr;)*) => {
        &[$(Row { rpc: $rpc, with: $with, attempt: |caller, $of| Box::pin(async move {
            let request = caller.request($message);
            let answer = ListingsServiceClient::new(caller.channel).$method(request).await?.into_inner();
            Ok(got(answer, $got))
        }) },)*]
    };
}

fn got<A>(answer: A, is_shown: impl Fn(A) -> bool) -> bool {
    is_shown(answer)
}

fn get(id: i64) -> GetListingRequest {
    GetListingRequest { id, lang: None }
}

fn get_product(product_id: i64) -> GetProductRequest {
    GetProductRequest { product_id, ..GetProductRequest::default() }
}

fn by_ids(id: i64) -> GetProductsByIDsRequest {
    GetProductsByIDsRequest { product_ids: vec![id], ..GetProductsByIDsRequest::default() }
}

fn by_sku(sku: &str) -> GetProductsBySkUsRequest {
    GetProductsBySkUsRequest { skus: vec![sku.to_owned()], ..GetProductsBySkUsRequest::default() }
}

fn list(status: &str) -> ListListingsRequest {
    let status = Some(status.to_owned());
    ListListingsRequest { user_id: Some(7), status, limit: 100, ..ListListingsRequest::default() }
}

fn item(product_id: i64) -> StockItem {
    StockItem { product_id, variant_id: None, quantity: 1 }
}

fn check(id: i64) -> CheckStockAvailabilityRequest {
    CheckStockAvailabilityRequest { items: vec![item(id)] }
}

fn edit(id: i64, user_id: i64) -> UpdateListingRequest {
    UpdateListingRequest { id, user_id, price: Some(5.0), ..UpdateListingRequest::default() }
}

fn delete(id: i64, user_id: i64, is_admin: bool) -> DeleteListingRequest {
    DeleteListingRequest { id, user_id, is_admin }
}

fn mark(listing_id: i64, user_id: i64) -> AddToFavoritesRequest {
    AddToFavoritesRequest { user_id, listing_id }
}

fn movement(product_id: i64, user_id: i64) -> RecordInventoryMovementRequest {
    RecordInventoryMovementRequest {
        storefront_id: 3,
        product_id,
        movement_type: "in".to_owned(),
        quantity: 1,
        user_id,
        ..RecordInventoryMovementRequest::default()
    }
}

fn batch(product_id: i64, user_id: i64) -> BatchUpdateStockRequest {
    let item = StockUpdateItem { product_id, quantity: 1, ..StockUpdateItem::default() };
    BatchUpdateStockRequest { storefront_id: 3, items: vec![item], user_id, reason: None }
}

fn offer(user_id: i64, storefront_id: Option<i64>) -> CreateListingRequest {
    CreateListingRequest { user_id, storefront_id, ..a_product() }
}

const CATEGORY: CategoryIdRequest = CategoryIdRequest { category_id: 20 };

pub(super) const ROWS: &[Row] = rows! {
    "GetListing", "of the owner", get_listing(of => get(of.product)), |_| true;
    "GetListing", "a draft", get_listing(of => get(of.draft)), |_| true;
    "GetListing", "a private one", get_listing(of => get(of.private)), |_| true;
    "GetListing", "an unlisted one", get_listing(of => get(of.unlisted)), |_| true;
    "CreateListing", "as oneself", create_listing(of => offer(of.user, None)), |_| true;
    "CreateListing", "as the owner", create_listing(_of => offer(7, None)), |_| true;
    "CreateListing", "as oneself, in the owner's storefront", create_listing(of => offer(of.user, Some(3))), |_| true;
    "UpdateListing", "as oneself", update_listing(of => edit(of.product, of.user)), |_| true;
    "UpdateListing", "as the owner", update_listing(of => edit(of.product, 7)), |_| true;
    "UpdateListing", "as oneself, a draft", update_listing(of => edit(of.draft, of.user)), |_| true;
    "DeleteListing", "as oneself", delete_listing(of => delete(of.product, of.user, false)), |_| true;
    "DeleteListing", "as the owner", delete_listing(of => delete(of.product, 7, false)), |_| true;
    "DeleteListing", "as oneself, a private one", delete_listing(of => delete(of.private, of.user, false)), |_| true;
    "DeleteListing", "with `is_admin`", delete_listing(of => delete(of.product, 0, true)), |_| true;
    "SearchListings", "by word",
        search_listings(_of => SearchListingsRequest { query: "bike".to_owned(), ..Default::default() }), |a| a.total > 0;
    "ListListings", "of the owner", list_listings(_of => list("active")), |a| a.total > 0;
    "ListListings", "the owner's drafts", list_listings(_of => list("draft")), |a| a.total > 0;
    "ListListings", "of the owner, private ones", list_listings(_of => list("active")),
        |a| a.listings.iter().any(|listing| listing.visibility == "private");
    "ListListings", "of all, private ones",
        list_listings(_of => ListListingsRequest { limit: 100, ..Default::default() }),
        |a| a.listings.iter().any(|listing| listing.visibility == "private");
    "GetSimilarListings", "to the owner's",
        get_similar_listings(of => GetSimilarListingsRequest { listing_id: of.product, limit: None }), |_| true;
    "GetSimilarListings", "to a draft",
        get_similar_listings(of => GetSimilarListingsRequest { listing_id: of.draft, limit: None }), |a| a.total > 0;
    "GetRootCategories", "", get_root_categories(_of => ()), |_| true;
    "GetAllCategories", "", get_all_categories(_of => ()), |_| true;
    "GetPopularCategories", "", get_popular_categories(_of => PopularCategoriesRequest::default()), |_| true;
    "GetCategory", "", get_category(_of => CATEGORY), |_| true;
    "GetCategoryTree", "", get_category_tree(_of => CATEGORY), |_| true;
    "GetFavoritedUsers", "of the owner's listing",
        get_favorited_users(of => ListingIdRequest { listing_id: of.product }), |_| true;
    "AddToFavorites", "as oneself", add_to_favorites(of => mark(of.product, of.user)), |_| true;
    "AddToFavorites", "as oneself, a draft", add_to_favorites(of => mark(of.draft, of.user)), |_| true;
    "AddToFavorites", "as the owner", add_to_favorites(of => mark(of.product, 7)), |_| true;
    "RemoveFromFavorites", "as the owner",
        remove_from_favorites(of => RemoveFromFavoritesRequest { user_id: 7, listing_id: of.product }), |_| true;
    "GetUserFavorites", "of the owner",
        get_user_favorites(_of => GetUserFavoritesRequest { user_id: 7, limit: 0, offset: 0 }), |_| true;
    "IsFavorite", "of the owner",
        is_favorite(of => IsFavoriteRequest { user_id: 7, listing_id: of.product }), |_| true;
    "GetProduct", "of the owner", get_product(of => get_product(of.product)), |_| true;
    "GetProduct", "a draft", get_product(of => get_product(of.draft)), |_| true;
    "GetProductsBySKUs", "a draft", get_products_by_sk_us(_of => by_sku(SKU)), |a| a.total_count > 0;
    "GetProductsBySKUs", "an unlisted one", get_products_by_sk_us(_of => by_sku(UNLISTED_SKU)), |a| a.total_count > 0;
    "GetProductsByIDs", "of the owner", get_products_by_i_ds(of => by_ids(of.product)), |a| a.total_count > 0;
    "GetProductsByIDs", "a draft", get_products_by_i_ds(of => by_ids(of.draft)), |a| a.total_count > 0;
    "ListProducts", "the drafts of a storefront",
        list_products(_of => ListProductsRequest { storefront_id: 3, page_size: 100, ..Default::default() }),
        |a| a.products.iter().any(|product| !product.is_active);
    "GetProductStats", "of the owner's storefront",
        get_product_stats(_of => GetProductStatsRequest { storefront_id: 3 }), |_| true;
    "GetProductStats", "of a storefront without products",
        get_product_stats(_of => GetProductStatsRequest { storefront_id: 99 }), |_| true;
    "IncrementProductViews", "of the owner's product",
        increment_product_views(of => IncrementProductViewsRequest { product_id: of.product }), |_| true;
    "IncrementProductViews", "of a draft",
        increment_product_views(of => IncrementProductViewsRequest { product_id: of.draft }), |_| true;
    "DecrementStock", "",
        decrement_stock(of => DecrementStockRequest { items: vec![item(of.product)], order_id: None }), |a| a.success;
    "RollbackStock", "",
        rollback_stock(of => RollbackStockRequest { items: vec![item(of.product)], order_id: None }), |a| a.success;
    "CheckStockAvailability", "of the owner's product",
        check_stock_availability(of => check(of.product)), |a| a.all_available;
    "CheckStockAvailability", "of a draft", check_stock_availability(of => check(of.draft)), |a| a.all_available;
    "RecordInventoryMovement", "as oneself",
        record_inventory_movement(of => movement(of.product, of.user)), |a| a.success;
    "RecordInventoryMovement", "as the owner", record_inventory_movement(of => movement(of.product, 7)), |a| a.success;
    "RecordInventoryMovement", "as oneself, of a draft",
        record_inventory_movement(of => movement(of.draft, of.user)), |a| a.success;
    "BatchUpdateStock", "as oneself", batch_update_stock(of => batch(of.product, of.user)), |a| a.failed_count == 0;
    "BatchUpdateStock", "as the owner", batch_update_stock(of => batch(of.product, 7)), |a| a.failed_count == 0;
};
