//! The rpcs of products, which are the listings of storefronts.

use std::sync::Arc;

use tonic::{Request, Response};

use super::{ListingsApi, RpcResult, caller, messages, requests};
use crate::find::Filters;
use crate::listing::Listing;
use crate::proto;

pub(super) async fn one(
    api: &ListingsApi,
    request: Request<proto::GetProductRequest>,
) -> RpcResult<proto::ProductResponse> {
    let (caller, message) = (caller(&request)?, request.get_ref());
    let lang = requests::lang(message.lang.as_deref())?;
    let id = requests::id("product_id", message.product_id)?;
    let product = api.operations.product(&caller, id, message.storefront_id).await?;
    let product = Some(messages::product(&product, lang.as_deref()));
    Ok(Response::new(proto::ProductResponse { product }))
}

pub(super) async fn by_skus(
    api: &ListingsApi,
    request: Request<proto::GetProductsBySkUsRequest>,
) -> RpcResult<proto::ProductsResponse> {
    let caller = caller(&request)?;
    let message = request.into_inner();
    let skus = requests::skus(message.skus)?;
    Ok(several(api.operations.products_of(&caller, &skus, message.storefront_id).await?))
}

pub(super) async fn by_ids(
    api: &ListingsApi,
    request: Request<proto::GetProductsByIDsRequest>,
) -> RpcResult<proto::ProductsResponse> {
    let (caller, message) = (caller(&request)?, request.get_ref());
    requests::ids(&message.product_ids)?;
    Ok(several(api.operations.products(&caller, &message.product_ids, message.storefront_id).await?))
}

fn several(products: Vec<Arc<Listing>>) -> Response<proto::ProductsResponse> {
    let total_count = messages::to_i32(products.len() as i64);
    let products = products.iter().map(|product| messages::product(product, None)).collect();
    Response::new(proto::ProductsResponse { products, total_count })
}

pub(super) async fn list(
    api: &ListingsApi,
    request: Request<proto::ListProductsRequest>,
) -> RpcResult<proto::ListProductsResponse> {
    let (caller, message) = (caller(&request)?, request.get_ref());
    let storefront_id = Some(requests::id("storefront_id", message.storefront_id)?);
    let filters = Filters { storefront_id, ..Filters::default() };
    let range = requests::range(message.limit, message.offset)?;
    let (found, total) = api.operations.find(&caller, filters, range).await?;
    let products = found.iter().map(|product| messages::product(product, None)).collect();
    Ok(Response::new(proto::ListProductsResponse { products, total: messages::to_i32(total) }))
}

pub(super) async fn stats(
    api: &ListingsApi,
    request: Request<proto::GetProductStatsRequest>,
) -> RpcResult<proto::GetProductStatsResponse> {
    let caller = caller(&request)?;
    let id = requests::id("storefront_id", request.get_ref().storefront_id)?;
    let stats = Some(messages::stats(&api.operations.stats(&caller, id).await?));
    Ok(Response::new(proto::GetProductStatsResponse { stats }))
}

pub(super) async fn view(
    api: &ListingsApi,
    request: Request<proto::IncrementProductViewsRequest>,
) -> RpcResult<()> {
    let caller = caller(&request)?;
    api.operations.view(&caller, requests::id("product_id", request.get_ref().product_id)?).await?;
    Ok(Response::new(()))
}
