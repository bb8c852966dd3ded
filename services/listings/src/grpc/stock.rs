//! The rpcs of stock.

use std::collections::HashMap;

use tonic::{Request, Response};

use super::requests::RequestedMovement;
use super::{ListingsApi, RpcResult, caller, messages, requests};
use crate::proto;
use crate::refusal::Refusal;
use crate::write::ItemOutcome;

/// The error of an order with an item that failed; each item has its own error.
const NOTHING_CHANGED: &str = "nothing was changed: at least one item failed";

struct OrderResult {
    success: bool,
    error: Option<String>,
    results: Vec<proto::StockResult>,
}

impl OrderResult {
    fn of(outcomes: &[ItemOutcome]) -> Self {
        let success = outcomes.iter().all(|outcome| outcome.error.is_none());
        let error = (!success).then(|| NOTHING_CHANGED.to_owned());
        Self { success, error, results: outcomes.iter().map(messages::stock_result).collect() }
    }
}

/// Orders have no owner: where callers are identified, only services may take them.
pub(super) async fn take(
    api: &ListingsApi,
    request: Request<proto::DecrementStockRequest>,
) -> RpcResult<proto::DecrementStockResponse> {
    caller(&request)?.require_service()?;
    let message = request.into_inner();
    let outcomes = api.operations.take(requests::order(message.items, message.order_id)?).await?;
    let OrderResult { success, error, results } = OrderResult::of(&outcomes);
    Ok(Response::new(proto::DecrementStockResponse { success, error, results }))
}

pub(super) async fn give_back(
    api: &ListingsApi,
    request: Request<proto::RollbackStockRequest>,
) -> RpcResult<proto::RollbackStockResponse> {
    caller(&request)?.require_service()?;
    let message = request.into_inner();
    let outcomes = api.operations.give_back(requests::order(message.items, message.order_id)?).await?;
    let OrderResult { success, error, results } = OrderResult::of(&outcomes);
    Ok(Response::new(proto::RollbackStockResponse { success, error, results }))
}

/// Of a product that does not exist nothing is available; products have no variants.
pub(super) async fn check(
    api: &ListingsApi,
    request: Request<proto::CheckStockAvailabilityRequest>,
) -> RpcResult<proto::CheckStockAvailabilityResponse> {
    let caller = caller(&request)?;
    let items = requests::items(request.into_inner().items)?;
    let ids: Vec<i64> = items.iter().map(|item| item.product_id).collect();
    let products = api.operations.products(&caller, &ids, None).await?;
    let stocks: HashMap<i64, i32> = products.iter().map(|product| (product.id, product.quantity)).collect();
    let available = |item: &crate::write::ProductQuantity| {
        let stock = stocks.get(&item.product_id).filter(|_| item.variant_id.is_none());
        let available_quantity = stock.copied().unwrap_or_default();
        proto::StockAvailability {
            product_id: item.product_id,
            variant_id: item.variant_id,
            requested_quantity: item.quantity,
            available_quantity,
            is_available: available_quantity >= item.quantity,
        }
    };
    let items: Vec<_> = items.iter().map(available).collect();
    let all_available = items.iter().all(|item| item.is_available);
    Ok(Response::new(proto::CheckStockAvailabilityResponse { all_available, items }))
}

pub(super) async fn move_one(
    api: &ListingsApi,
    request: Request<proto::RecordInventoryMovementRequest>,
) -> RpcResult<proto::RecordInventoryMovementResponse> {
    let caller = caller(&request)?;
    let RequestedMovement { mut movement, variant_id } = requests::movement(request.into_inner())?;
    caller.require_user(movement.user_id)?;
    if let Some(id) = variant_id {
        return Err(Refusal::NotFound("variant", id).into());
    }
    movement.owner = caller.owner();
    let stock = api.operations.move_stock(movement).await?;
    Ok(Response::new(proto::RecordInventoryMovementResponse {
        success: true,
        stock_before: stock.before,
        stock_after: stock.after,
        error: None,
    }))
}

pub(super) async fn set(
    api: &ListingsApi,
    request: Request<proto::BatchUpdateStockRequest>,
) -> RpcResult<proto::BatchUpdateStockResponse> {
    let caller = caller(&request)?;
    let mut set = requests::stock_set(request.into_inner())?;
    caller.require_user(set.user_id)?;
    set.owner = caller.owner();
    let outcomes = api.operations.set_stock(set).await?;
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    let result = |outcome: &ItemOutcome| proto::StockUpdateResult {
        product_id: outcome.item.product_id,
        variant_id: outcome.item.variant_id,
        stock_before: outcome.stock.before,
        stock_after: outcome.stock.after,
        success: outcome.error.is_none(),
        error: outcome.error.clone(),
    };
    Ok(Response::new(proto::BatchUpdateStockResponse {
        successful_count: messages::to_i32((outcomes.len() - failed) as i64),
        failed_count: messages::to_i32(failed as i64),
        results: outcomes.iter().map(result).collect(),
    }))
}
