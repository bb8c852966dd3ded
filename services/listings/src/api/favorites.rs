//! Favourites.

use super::{Api, ApiResult, messages, requests};
use crate::caller::Caller;
use crate::proto;

impl Api {
    pub(crate) async fn get_favorited_users(
        &self,
        caller: &Caller,
        message: proto::ListingIdRequest,
    ) -> ApiResult<proto::UserIDsResponse> {
        let id = requests::id("listing_id", message.listing_id)?;
        let user_ids = self.operations.favored_by(caller, id).await?;
        Ok(proto::UserIDsResponse { user_ids })
    }

    pub(crate) async fn add_to_favorites(
        &self,
        caller: &Caller,
        message: proto::AddToFavoritesRequest,
    ) -> ApiResult<()> {
        let favorite = requests::favorite(message.user_id, message.listing_id)?;
        caller.require_user(favorite.user_id)?;
        self.operations.add_favorite(favorite).await
    }

    pub(crate) async fn remove_from_favorites(
        &self,
        caller: &Caller,
        message: proto::RemoveFromFavoritesRequest,
    ) -> ApiResult<()> {
        let favorite = requests::favorite(message.user_id, message.listing_id)?;
        caller.require_user(favorite.user_id)?;
        self.operations.remove_favorite(favorite).await
    }

    pub(crate) async fn get_user_favorites(
        &self,
        caller: &Caller,
        message: proto::GetUserFavoritesRequest,
    ) -> ApiResult<proto::GetUserFavoritesResponse> {
        let user_id = requests::id("user_id", message.user_id)?;
        caller.require_user(user_id)?;
        let range = requests::range(message.limit, message.offset)?;
        let page = self.operations.favorites(user_id, range).await?;
        Ok(proto::GetUserFavoritesResponse { listing_ids: page.ids, total: messages::to_i32(page.total) })
    }

    pub(crate) async fn is_favorite(
        &self,
        caller: &Caller,
        message: proto::IsFavoriteRequest,
    ) -> ApiResult<proto::IsFavoriteResponse> {
        let favorite = requests::favorite(message.user_id, message.listing_id)?;
        caller.require_user(favorite.user_id)?;
        let is_favorite = self.operations.is_favorite(favorite).await?;
        Ok(proto::IsFavoriteResponse { is_favorite })
    }
}
