//! Listings: created, read, changed, deleted, found.

use std::sync::Arc;

use super::{Api, ApiResult, messages, requests};
use crate::caller::Caller;
use crate::listing::Listing;
use crate::proto;
use crate::write::Deleter;

impl Api {
    pub(crate) async fn get_listing(
        &self,
        caller: &Caller,
        message: proto::GetListingRequest,
    ) -> ApiResult<proto::GetListingResponse> {
        let lang = requests::lang(message.lang.as_deref())?;
        let listing = self.operations.listing(caller, requests::id("id", message.id)?).await?;
        let listing = Some(messages::listing(&listing, lang.as_deref()));
        Ok(proto::GetListingResponse { listing })
    }

    pub(crate) async fn create_listing(
        &self,
        caller: &Caller,
        message: proto::CreateListingRequest,
    ) -> ApiResult<proto::CreateListingResponse> {
        let mut new = requests::create(message)?;
        caller.require_user(new.user_id)?;
        new.owner = caller.owner();
        let listing = self.operations.create(new).await?;
        let listing = Some(messages::listing(&listing, None));
        Ok(proto::CreateListingResponse { listing })
    }

    pub(crate) async fn update_listing(
        &self,
        caller: &Caller,
        message: proto::UpdateListingRequest,
    ) -> ApiResult<proto::UpdateListingResponse> {
        let edit = requests::edit(message)?;
        caller.require_user(edit.user_id)?;
        let listing = self.operations.update(edit).await?;
        let listing = Some(messages::listing(&listing, None));
        Ok(proto::UpdateListingResponse { listing })
    }

    pub(crate) async fn delete_listing(
        &self,
        caller: &Caller,
        message: proto::DeleteListingRequest,
    ) -> ApiResult<proto::DeleteListingResponse> {
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
        Ok(proto::DeleteListingResponse { success: true })
    }

    pub(crate) async fn search_listings(
        &self,
        caller: &Caller,
        message: proto::SearchListingsRequest,
    ) -> ApiResult<proto::SearchListingsResponse> {
        let (filters, range) = requests::search(message)?;
        let (found, total) = self.operations.find(caller, filters, range).await?;
        Ok(proto::SearchListingsResponse { listings: several(&found), total: messages::to_i32(total) })
    }

    pub(crate) async fn list_listings(
        &self,
        caller: &Caller,
        message: proto::ListListingsRequest,
    ) -> ApiResult<proto::ListListingsResponse> {
        let (filters, range) = requests::list(message)?;
        let (found, total) = self.operations.find(caller, filters, range).await?;
        Ok(proto::ListListingsResponse { listings: several(&found), total: messages::to_i32(total) })
    }

    pub(crate) async fn get_similar_listings(
        &self,
        caller: &Caller,
        message: proto::GetSimilarListingsRequest,
    ) -> ApiResult<proto::GetSimilarListingsResponse> {
        let id = requests::id("listing_id", message.listing_id)?;
        let limit = requests::similar_limit(message.limit)?;
        let found = self.operations.similar(caller, id, limit).await?;
        let total = messages::to_i32(found.len() as i64);
        Ok(proto::GetSimilarListingsResponse { listings: several(&found), total })
    }
}

fn several(found: &[Arc<Listing>]) -> Vec<proto::Listing> {
    found.iter().map(|listing| messages::listing(listing, None)).collect()
}
