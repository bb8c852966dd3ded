//! Products: the listings of storefronts.

use super::{Answer, Shop, asked, messages};
use crate::find::Filters;
use crate::listing::Listing;
use crate::proto;
use std::sync::Arc;
use tonic::{Request, Response};

pub(super) async fn one(
    shop: &Shop,
    request: Request<proto::GetProductRequest>,
) -> Answer<proto::ProductResponse> {
    let asked = request.get_ref();
    let lang = asked::lang(asked.lang.as_deref())?;
    let id = asked::id("product_id", asked.product_id)?;
    let product = shop.operations.product(id, asked.storefront_id).await?;
    let product = Some(messages::product(&product, lang.as_deref()));
    Ok(Response::new(proto::ProductResponse { product }))
}

pub(super) async fn by_skus(
    shop: &Shop,
    request: Request<proto::GetProductsBySkUsRequest>,
) -> Answer<proto::ProductsResponse> {
    let asked = request.into_inner();
    let skus = asked::skus(asked.skus)?;
    Ok(several(shop.operations.products_of(&skus, asked.storefront_id).await?))
}

pub(super) async fn by_ids(
    shop: &Shop,
    request: Request<proto::GetProductsByIDsRequest>,
) -> Answer<proto::ProductsResponse> {
    let asked = request.get_ref();
    asked::ids(&asked.product_ids)?;
    Ok(several(shop.operations.products(&asked.product_ids, asked.storefront_id).await?))
}

fn several(products: Vec<Arc<Listing>>) -> Response<proto::ProductsResponse> {
    let total_count = messages::short(products.len() as i64);
    let products = products.iter().map(|product| messages::product(product, None)).collect();
    Response::new(proto::ProductsResponse { products, total_count })
}

pub(super) async fn list(
    shop: &Shop,
    request: Request<proto::ListProductsRequest>,
) -> Answer<proto::ListProductsResponse> {
    let asked = request.get_ref();
    let storefront_id = Some(asked::id("storefront_id", asked.storefront_id)?);
    let filters = Filters { storefront_id, ..Filters::default() };
    let (found, total) = shop.operations.find(&filters, asked::slice(asked.limit, asked.offset)?).await?;
    let products = found.iter().map(|product| messages::product(product, None)).collect();
    Ok(Response::new(proto::ListProductsResponse { products, total: messages::short(total) }))
}

pub(super) async fn stats(
    shop: &Shop,
    request: Request<proto::GetProductStatsRequest>,
) -> Answer<proto::GetProductStatsResponse> {
    let id = asked::id("storefront_id", request.get_ref().storefront_id)?;
    let stats = Some(messages::stats(&shop.operations.stats(id).await?));
    Ok(Response::new(proto::GetProductStatsResponse { stats }))
}

pub(super) async fn view(shop: &Shop, request: Request<proto::IncrementProductViewsRequest>) -> Answer<()> {
    shop.operations.view(asked::id("product_id", request.get_ref().product_id)?).await?;
    Ok(Response::new(()))
}
