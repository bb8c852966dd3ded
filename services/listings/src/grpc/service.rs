//! The rpcs: listings, categories and favourites here, the others delegated to their modules.

use std::cmp::Reverse;

use tonic::{Request, Response};

use super::{ListingsApi, RpcResult, caller, messages, products, requests, stock};
use crate::categories;
use crate::proto;
use crate::proto::listings_service_server::ListingsService;
use crate::refusal::Refusal;
use crate::write::Deleter;

#[tonic::async_trait]
impl ListingsService for ListingsApi {
    async fn get_listing(
        &self,
        request: Request<proto::GetListingRequest>,
    ) -> RpcResult<proto::GetListingResponse> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let lang = requests::lang(message.lang.as_deref())?;
        let listing = self.operations.listing(&caller, requests::id("id", message.id)?).await?;
        let listing = Some(messages::listing(&listing, lang.as_deref()));
        Ok(Response::new(proto::GetListingResponse { listing }))
    }

    async fn create_listing(
        &self,
        request: Request<proto::CreateListingRequest>,
    ) -> RpcResult<proto::CreateListingResponse> {
        let caller = caller(&request)?;
        let mut new = requests::create(request.into_inner())?;
        caller.require_user(new.user_id)?;
        new.owner = caller.owner();
        let listing = self.operations.create(new).await?;
        let listing = Some(messages::listing(&listing, None));
        Ok(Response::new(proto::CreateListingResponse { listing }))
    }

    async fn update_listing(
        &self,
        request: Request<proto::UpdateListingRequest>,
    ) -> RpcResult<proto::UpdateListingResponse> {
        let caller = caller(&request)?;
        let edit = requests::edit(request.into_inner())?;
        caller.require_user(edit.user_id)?;
        let listing = self.operations.update(edit).await?;
        let listing = Some(messages::listing(&listing, None));
        Ok(Response::new(proto::UpdateListingResponse { listing }))
    }

    async fn delete_listing(
        &self,
        request: Request<proto::DeleteListingRequest>,
    ) -> RpcResult<proto::DeleteListingResponse> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let id = requests::id("id", message.id)?;
        let deleter = if message.is_admin {
            caller.require_admin()?;
            Deleter::Admin
        } else {
            let user_id = requests::id("user_id", message.user_id)?;
            caller.require_user(user_id)?;
            Deleter::Owner(user_id)
        };
        self.operations.delete(id, deleter).await?;
        Ok(Response::new(proto::DeleteListingResponse { success: true }))
    }

    async fn search_listings(
        &self,
        request: Request<proto::SearchListingsRequest>,
    ) -> RpcResult<proto::SearchListingsResponse> {
        let caller = caller(&request)?;
        let (filters, range) = requests::search(request.into_inner())?;
        let (found, total) = self.operations.find(&caller, filters, range).await?;
        let listings = found.iter().map(|listing| messages::listing(listing, None)).collect();
        Ok(Response::new(proto::SearchListingsResponse { listings, total: messages::to_i32(total) }))
    }

    async fn list_listings(
        &self,
        request: Request<proto::ListListingsRequest>,
    ) -> RpcResult<proto::ListListingsResponse> {
        let caller = caller(&request)?;
        let (filters, range) = requests::list(request.into_inner())?;
        let (found, total) = self.operations.find(&caller, filters, range).await?;
        let listings = found.iter().map(|listing| messages::listing(listing, None)).collect();
        Ok(Response::new(proto::ListListingsResponse { listings, total: messages::to_i32(total) }))
    }

    async fn get_similar_listings(
        &self,
        request: Request<proto::GetSimilarListingsRequest>,
    ) -> RpcResult<proto::GetSimilarListingsResponse> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let (id, limit) =
            (requests::id("listing_id", message.listing_id)?, requests::range(message.limit, 0)?.limit);
        let found = self.operations.similar(&caller, id, limit).await?;
        let listings = found.iter().map(|listing| messages::listing(listing, None)).collect();
        let total = messages::to_i32(found.len() as i64);
        Ok(Response::new(proto::GetSimilarListingsResponse { listings, total }))
    }

    async fn get_root_categories(&self, _request: Request<()>) -> RpcResult<proto::CategoriesResponse> {
        let all = self.operations.categories().await?;
        let roots = all.iter().filter(|category| category.parent_id.is_none());
        let categories = roots.map(|category| messages::category(&all, category)).collect();
        Ok(Response::new(proto::CategoriesResponse { categories }))
    }

    async fn get_all_categories(&self, _request: Request<()>) -> RpcResult<proto::CategoriesResponse> {
        let all = self.operations.categories().await?;
        let categories = all.iter().map(|category| messages::category(&all, category)).collect();
        Ok(Response::new(proto::CategoriesResponse { categories }))
    }

    async fn get_popular_categories(
        &self,
        request: Request<proto::PopularCategoriesRequest>,
    ) -> RpcResult<proto::CategoriesResponse> {
        let count = requests::count(request.get_ref().limit)?;
        let all = self.operations.categories().await?;
        let mut popular: Vec<_> = all.iter().collect();
        popular.sort_by_key(|category| (Reverse(category.listings), category.id));
        let popular = popular.into_iter().take(count);
        let categories = popular.map(|category| messages::category(&all, category)).collect();
        Ok(Response::new(proto::CategoriesResponse { categories }))
    }

    async fn get_category(
        &self,
        request: Request<proto::CategoryIdRequest>,
    ) -> RpcResult<proto::CategoryResponse> {
        let id = requests::id("category_id", request.get_ref().category_id)?;
        let all = self.operations.categories().await?;
        let category = categories::find(&all, id).ok_or(Refusal::NotFound("category", id))?;
        let category = Some(messages::category(&all, category));
        Ok(Response::new(proto::CategoryResponse { category }))
    }

    async fn get_category_tree(
        &self,
        request: Request<proto::CategoryIdRequest>,
    ) -> RpcResult<proto::CategoryTreeResponse> {
        let id = requests::id("category_id", request.get_ref().category_id)?;
        let all = self.operations.categories().await?;
        let tree = categories::tree(&all, id).ok_or(Refusal::NotFound("category", id))?;
        Ok(Response::new(proto::CategoryTreeResponse { tree: Some(messages::node(&tree)) }))
    }

    async fn get_favorited_users(
        &self,
        request: Request<proto::ListingIdRequest>,
    ) -> RpcResult<proto::UserIDsResponse> {
        let caller = caller(&request)?;
        let id = requests::id("listing_id", request.get_ref().listing_id)?;
        let user_ids = self.operations.favored_by(&caller, id).await?;
        Ok(Response::new(proto::UserIDsResponse { user_ids }))
    }

    async fn add_to_favorites(&self, request: Request<proto::AddToFavoritesRequest>) -> RpcResult<()> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let favorite = requests::favorite(message.user_id, message.listing_id)?;
        caller.require_user(favorite.user_id)?;
        self.operations.add_favorite(favorite).await?;
        Ok(Response::new(()))
    }

    async fn remove_from_favorites(
        &self,
        request: Request<proto::RemoveFromFavoritesRequest>,
    ) -> RpcResult<()> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let favorite = requests::favorite(message.user_id, message.listing_id)?;
        caller.require_user(favorite.user_id)?;
        self.operations.remove_favorite(favorite).await?;
        Ok(Response::new(()))
    }

    async fn get_user_favorites(
        &self,
        request: Request<proto::GetUserFavoritesRequest>,
    ) -> RpcResult<proto::GetUserFavoritesResponse> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let user_id = requests::id("user_id", message.user_id)?;
        caller.require_user(user_id)?;
        let page =
            self.operations.favorites(user_id, requests::range(message.limit, message.offset)?).await?;
        let total = messages::to_i32(page.total);
        Ok(Response::new(proto::GetUserFavoritesResponse { listing_ids: page.ids, total }))
    }

    async fn is_favorite(
        &self,
        request: Request<proto::IsFavoriteRequest>,
    ) -> RpcResult<proto::IsFavoriteResponse> {
        let (caller, message) = (caller(&request)?, request.get_ref());
        let favorite = requests::favorite(message.user_id, message.listing_id)?;
        caller.require_user(favorite.user_id)?;
        let is_favorite = self.operations.is_favorite(favorite).await?;
        Ok(Response::new(proto::IsFavoriteResponse { is_favorite }))
    }

    async fn get_product(
        &self,
        request: Request<proto::GetProductRequest>,
    ) -> RpcResult<proto::ProductResponse> {
        products::one(self, request).await
    }

    async fn get_products_by_sk_us(
        &self,
        request: Request<proto::GetProductsBySkUsRequest>,
    ) -> RpcResult<proto::ProductsResponse> {
        products::by_skus(self, request).await
    }

    async fn get_products_by_i_ds(
        &self,
        request: Request<proto::GetProductsByIDsRequest>,
    ) -> RpcResult<proto::ProductsResponse> {
        products::by_ids(self, request).await
    }

    async fn list_products(
        &self,
        request: Request<proto::ListProductsRequest>,
    ) -> RpcResult<proto::ListProductsResponse> {
        products::list(self, request).await
    }

    async fn get_product_stats(
        &self,
        request: Request<proto::GetProductStatsRequest>,
    ) -> RpcResult<proto::GetProductStatsResponse> {
        products::stats(self, request).await
    }

    async fn increment_product_views(
        &self,
        request: Request<proto::IncrementProductViewsRequest>,
    ) -> RpcResult<()> {
        products::view(self, request).await
    }

    async fn decrement_stock(
        &self,
        request: Request<proto::DecrementStockRequest>,
    ) -> RpcResult<proto::DecrementStockResponse> {
        stock::take(self, request).await
    }

    async fn rollback_stock(
        &self,
        request: Request<proto::RollbackStockRequest>,
    ) -> RpcResult<proto::RollbackStockResponse> {
        stock::give_back(self, request).await
    }

    async fn check_stock_availability(
        &self,
        request: Request<proto::CheckStockAvailabilityRequest>,
    ) -> RpcResult<proto::CheckStockAvailabilityResponse> {
        stock::check(self, request).await
    }

    async fn record_inventory_movement(
        &self,
        request: Request<proto::RecordInventoryMovementRequest>,
    ) -> RpcResult<proto::RecordInventoryMovementResponse> {
        stock::move_one(self, request).await
    }

    async fn batch_update_stock(
        &self,
        request: Request<proto::BatchUpdateStockRequest>,
    ) -> RpcResult<proto::BatchUpdateStockResponse> {
        stock::set(self, request).await
    }
}
