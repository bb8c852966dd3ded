//! Products, which are the listings of storefronts.

use std::sync::Arc;

use super::{Api, ApiResult, messages, requests};
use crate::caller::Caller;
use crate::listing::Listing;
use crate::proto;

impl Api {
    pub(crate) async fn get_product(
        &self,
        caller: &Caller,
        message: proto::GetProductRequest,
    ) -> ApiResult<proto::ProductResponse> {
        let lang = requests::lang(message.lang.as_deref())?;
        let id = requests::id("product_id", message.product_id)?;
        let product = self.operations.product(caller, id, message.storefront_id).await?;
        let product = Some(messages::product(&product, lang.as_deref()));
        Ok(proto::ProductResponse { product })
    }

    pub(crate) async fn get_products_by_skus(
        &self,
        caller: &Caller,
        message: proto::GetProductsBySkUsRequest,
    ) -> ApiResult<proto::ProductsResponse> {
        let lang = requests::lang(message.lang.as_deref())?;
        let skus = requests::skus(message.skus)?;
        let products = self.operations.products_of(caller, skus, message.storefront_id).await?;
        Ok(several(&products, products.len() as i64, lang.as_deref()))
    }

    pub(crate) async fn get_products_by_ids(
        &self,
        caller: &Caller,
        message: proto::GetProductsByIDsRequest,
    ) -> ApiResult<proto::ProductsResponse> {
        let lang = requests::lang(message.lang.as_deref())?;
        requests::ids(&message.product_ids)?;
        let products = self.operations.products(caller, &message.product_ids, message.storefront_id).await?;
        Ok(several(&products, products.len() as i64, lang.as_deref()))
    }

    pub(crate) async fn list_products(
        &self,
        caller: &Caller,
        message: proto::ListProductsRequest,
    ) -> ApiResult<proto::ProductsResponse> {
        let (filters, range) = requests::list_products(message)?;
        let (found, total) = self.operations.find(caller, filters, range).await?;
        Ok(several(&found, total, None))
    }

    pub(crate) async fn get_product_stats(
        &self,
        caller: &Caller,
        message: proto::GetProductStatsRequest,
    ) -> ApiResult<proto::GetProductStatsResponse> {
        let id = requests::id("storefront_id", message.storefront_id)?;
        let stats = Some(messages::stats(&self.operations.stats(caller, id).await?));
        Ok(proto::GetProductStatsResponse { stats })
    }

    pub(crate) async fn increment_product_views(
        &self,
        caller: &Caller,
        message: proto::IncrementProductViewsRequest,
    ) -> ApiResult<()> {
        self.operations.view(caller, requests::id("product_id", message.product_id)?).await
    }
}

fn several(found: &[Arc<Listing>], total: i64, lang: Option<&str>) -> proto::ProductsResponse {
    let products = found.iter().map(|product| messages::product(product, lang)).collect();
    proto::ProductsResponse { products, total_count: messages::to_i32(total) }
}
