//! Listings, categories and favourites, and the way to all other rpcs.

use super::{Answer, Shop, asked, caller, messages, products, stock};
use crate::categories;
use crate::operations::Refusal;
use crate::proto;
use crate::proto::listings_service_server::ListingsService;
use crate::write::Deleter;
use std::cmp::Reverse;
use tonic::{Request, Response};

#[tonic::async_trait]
impl ListingsService for Shop {
    async fn get_listing(
        &self,
        request: Request<proto::GetListingRequest>,
    ) -> Answer<proto::GetListingResponse> {
        let asked = request.get_ref();
        let lang = asked::lang(asked.lang.as_deref())?;
        let listing = self.operations.listing(asked::id("id", asked.id)?).await?;
        let listing = Some(messages::listing(&listing, lang.as_deref()));
        Ok(Response::new(proto::GetListingResponse { listing }))
    }

    async fn create_listing(
        &self,
        request: Request<proto::CreateListingRequest>,
    ) -> Answer<proto::CreateListingResponse> {
        let caller = caller(&request)?;
        let new = asked::create(request.into_inner())?;
        caller.speak_for(new.user_id)?;
        let listing = self.operations.create(new).await?;
        let listing = Some(messages::listing(&listing, None));
        Ok(Response::new(proto::CreateListingResponse { listing }))
    }

    async fn update_listing(
        &self,
        request: Request<proto::UpdateListingRequest>,
    ) -> Answer<proto::UpdateListingResponse> {
        let caller = caller(&request)?;
        let edit = asked::edit(request.into_inner())?;
        caller.speak_for(edit.user_id)?;
        let listing = self.operations.update(edit).await?;
        let listing = Some(messages::listing(&listing, None));
        Ok(Response::new(proto::UpdateListingResponse { listing }))
    }

    async fn delete_listing(
        &self,
        request: Request<proto::DeleteListingRequest>,
    ) -> Answer<proto::DeleteListingResponse> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let id = asked::id("id", asked.id)?;
        let deleter = if asked.is_admin {
            caller.administrate()?;
            Deleter::Admin
        } else {
            let user_id = asked::id("user_id", asked.user_id)?;
            caller.speak_for(user_id)?;
            Deleter::Owner(user_id)
        };
        self.operations.delete(id, deleter).await?;
        Ok(Response::new(proto::DeleteListingResponse { success: true }))
    }

    async fn search_listings(
        &self,
        request: Request<proto::SearchListingsRequest>,
    ) -> Answer<proto::SearchListingsResponse> {
        let (filters, slice) = asked::search(request.into_inner())?;
        let (found, total) = self.operations.find(&filters, slice).await?;
        let listings = found.iter().map(|listing| messages::listing(listing, None)).collect();
        Ok(Response::new(proto::SearchListingsResponse { listings, total: messages::short(total) }))
    }

    async fn list_listings(
        &self,
        request: Request<proto::ListListingsRequest>,
    ) -> Answer<proto::ListListingsResponse> {
        let (filters, slice) = asked::list(request.into_inner())?;
        let (found, total) = self.operations.find(&filters, slice).await?;
        let listings = found.iter().map(|listing| messages::listing(listing, None)).collect();
        Ok(Response::new(proto::ListListingsResponse { listings, total: messages::short(total) }))
    }

    async fn get_similar_listings(
        &self,
        request: Request<proto::GetSimilarListingsRequest>,
    ) -> Answer<proto::GetSimilarListingsResponse> {
        let asked = request.get_ref();
        let (id, limit) = (asked::id("listing_id", asked.listing_id)?, asked::slice(asked.limit, 0)?.limit);
        let found = self.operations.similar(id, limit).await?;
        let listings = found.iter().map(|listing| messages::listing(listing, None)).collect();
        let total = messages::short(found.len() as i64);
        Ok(Response::new(proto::GetSimilarListingsResponse { listings, total }))
    }

    async fn get_root_categories(&self, _request: Request<()>) -> Answer<proto::CategoriesResponse> {
        let all = self.operations.categories().await?;
        let roots = all.iter().filter(|category| category.parent_id.is_none());
        let categories = roots.map(|category| messages::category(&all, category)).collect();
        Ok(Response::new(proto::CategoriesResponse { categories }))
    }

    async fn get_all_categories(&self, _request: Request<()>) -> Answer<proto::CategoriesResponse> {
        let all = self.operations.categories().await?;
        let categories = all.iter().map(|category| messages::category(&all, category)).collect();
        Ok(Response::new(proto::CategoriesResponse { categories }))
    }

    async fn get_popular_categories(
        &self,
        request: Request<proto::PopularCategoriesRequest>,
    ) -> Answer<proto::CategoriesResponse> {
        let count = asked::count(request.get_ref().limit)?;
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
    ) -> Answer<proto::CategoryResponse> {
        let id = asked::id("category_id", request.get_ref().category_id)?;
        let all = self.operations.categories().await?;
        let category = categories::find(&all, id).ok_or(Refusal::NotFound("category", id))?;
        let category = Some(messages::category(&all, category));
        Ok(Response::new(proto::CategoryResponse { category }))
    }

    async fn get_category_tree(
        &self,
        request: Request<proto::CategoryIdRequest>,
    ) -> Answer<proto::CategoryTreeResponse> {
        let id = asked::id("category_id", request.get_ref().category_id)?;
        let all = self.operations.categories().await?;
        let tree = categories::tree(&all, id).ok_or(Refusal::NotFound("category", id))?;
        Ok(Response::new(proto::CategoryTreeResponse { tree: Some(messages::node(&tree)) }))
    }

    async fn get_favorited_users(
        &self,
        request: Request<proto::ListingIdRequest>,
    ) -> Answer<proto::UserIDsResponse> {
        let id = asked::id("listing_id", request.get_ref().listing_id)?;
        let user_ids = self.operations.favored_by(id).await?;
        Ok(Response::new(proto::UserIDsResponse { user_ids }))
    }

    async fn add_to_favorites(&self, request: Request<proto::AddToFavoritesRequest>) -> Answer<()> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let (user, listing) =
            (asked::id("user_id", asked.user_id)?, asked::id("listing_id", asked.listing_id)?);
        caller.speak_for(user)?;
        self.operations.mark(user, listing).await?;
        Ok(Response::new(()))
    }

    async fn remove_from_favorites(&self, request: Request<proto::RemoveFromFavoritesRequest>) -> Answer<()> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let (user, listing) =
            (asked::id("user_id", asked.user_id)?, asked::id("listing_id", asked.listing_id)?);
        caller.speak_for(user)?;
        self.operations.unmark(user, listing).await?;
        Ok(Response::new(()))
    }

    async fn get_user_favorites(
        &self,
        request: Request<proto::GetUserFavoritesRequest>,
    ) -> Answer<proto::GetUserFavoritesResponse> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let user = asked::id("user_id", asked.user_id)?;
        caller.speak_for(user)?;
        let page = self.operations.favorites(user, asked::slice(asked.limit, asked.offset)?).await?;
        let total = messages::short(page.total);
        Ok(Response::new(proto::GetUserFavoritesResponse { listing_ids: page.ids, total }))
    }

    async fn is_favorite(
        &self,
        request: Request<proto::IsFavoriteRequest>,
    ) -> Answer<proto::IsFavoriteResponse> {
        let (caller, asked) = (caller(&request)?, request.get_ref());
        let (user, listing) =
            (asked::id("user_id", asked.user_id)?, asked::id("listing_id", asked.listing_id)?);
        caller.speak_for(user)?;
        let is_favorite = self.operations.is_favorite(user, listing).await?;
        Ok(Response::new(proto::IsFavoriteResponse { is_favorite }))
    }

    async fn get_product(
        &self,
        request: Request<proto::GetProductRequest>,
    ) -> Answer<proto::ProductResponse> {
        products::one(self, request).await
    }

    async fn get_products_by_sk_us(
        &self,
        request: Request<proto::GetProductsBySkUsRequest>,
    ) -> Answer<proto::ProductsResponse> {
        products::by_skus(self, request).await
    }

    async fn get_products_by_i_ds(
        &self,
        request: Request<proto::GetProductsByIDsRequest>,
    ) -> Answer<proto::ProductsResponse> {
        products::by_ids(self, request).await
    }

    async fn list_products(
        &self,
        request: Request<proto::ListProductsRequest>,
    ) -> Answer<proto::ListProductsResponse> {
        products::list(self, request).await
    }

    async fn get_product_stats(
        &self,
        request: Request<proto::GetProductStatsRequest>,
    ) -> Answer<proto::GetProductStatsResponse> {
        products::stats(self, request).await
    }

    async fn increment_product_views(
        &self,
        request: Request<proto::IncrementProductViewsRequest>,
    ) -> Answer<()> {
        products::view(self, request).await
    }

    async fn decrement_stock(
        &self,
        request: Request<proto::DecrementStockRequest>,
    ) -> Answer<proto::DecrementStockResponse> {
        stock::take(self, request).await
    }

    async fn rollback_stock(
        &self,
        request: Request<proto::RollbackStockRequest>,
    ) -> Answer<proto::RollbackStockResponse> {
        stock::give_back(self, request).await
    }

    async fn check_stock_availability(
        &self,
        request: Request<proto::CheckStockAvailabilityRequest>,
    ) -> Answer<proto::CheckStockAvailabilityResponse> {
        stock::check(self, request).await
    }

    async fn record_inventory_movement(
        &self,
        request: Request<proto::RecordInventoryMovementRequest>,
    ) -> Answer<proto::RecordInventoryMovementResponse> {
        stock::move_one(self, request).await
    }

    async fn batch_update_stock(
        &self,
        request: Request<proto::BatchUpdateStockRequest>,
    ) -> Answer<proto::BatchUpdateStockResponse> {
        stock::set(self, request).await
    }
}
