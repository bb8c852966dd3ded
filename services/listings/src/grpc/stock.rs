//! Stock.

use super::{Answer, Shop, asked, caller, messages};
use crate::operations::Refusal;
use crate::proto;
use crate::write::ItemOutcome;
use std::collections::HashMap;
use tonic::{Request, Response};

/// Said of an order of which something could not be done; each item says what.
const NOTHING_DONE: &str = "nothing was changed: not every item could be";

fn results(outcomes: &[ItemOutcome]) -> (bool, Option<String>, Vec<proto::StockResult>) {
    let is_done = outcomes.iter().all(|outcome| outcome.error.is_none());
    let error = (!is_done).then(|| NOTHING_DONE.to_owned());
    (is_done, error, outcomes.iter().map(messages::stock_result).collect())
}

/// Orders are nobody's own: where callers are known, only administrators speak for them.
pub(super) async fn take(
    shop: &Shop,
    request: Request<proto::DecrementStockRequest>,
) -> Answer<proto::DecrementStockResponse> {
    caller(&request)?.administrate()?;
    let asked = request.into_inner();
    let outcomes = shop.operations.take(asked::order(asked.items, asked.order_id)?).await?;
    let (success, error, results) = results(&outcomes);
    Ok(Response::new(proto::DecrementStockResponse { success, error, results }))
}

pub(super) async fn give_back(
    shop: &Shop,
    request: Request<proto::RollbackStockRequest>,
) -> Answer<proto::RollbackStockResponse> {
    caller(&request)?.administrate()?;
    let asked = request.into_inner();
    let outcomes = shop.operations.give_back(asked::order(asked.items, asked.order_id)?).await?;
    let (success, error, results) = results(&outcomes);
    Ok(Response::new(proto::RollbackStockResponse { success, error, results }))
}

/// Of what there is not, nothing is available; products have no variants.
pub(super) async fn check(
    shop: &Shop,
    request: Request<proto::CheckStockAvailabilityRequest>,
) -> Answer<proto::CheckStockAvailabilityResponse> {
    let items = asked::items(request.into_inner().items)?;
    let ids: Vec<i64> = items.iter().map(|item| item.product_id).collect();
    let products = shop.operations.products(&ids, None).await?;
    let stocks: HashMap<i64, i32> = products.iter().map(|product| (product.id, product.quantity)).collect();
    let available = |item: &crate::write::Item| {
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
    shop: &Shop,
    request: Request<proto::RecordInventoryMovementRequest>,
) -> Answer<proto::RecordInventoryMovementResponse> {
    let caller = caller(&request)?;
    let (mut movement, variant) = asked::movement(request.into_inner())?;
    caller.speak_for(movement.user_id)?;
    if let Some(id) = variant {
        return Err(Refusal::NotFound("variant", id).into());
    }
    movement.owner = caller.owner();
    let (stock_before, stock_after) = shop.operations.move_stock(movement).await?;
    let done =
        proto::RecordInventoryMovementResponse { success: true, stock_before, stock_after, error: None };
    Ok(Response::new(done))
}

pub(super) async fn set(
    shop: &Shop,
    request: Request<proto::BatchUpdateStockRequest>,
) -> Answer<proto::BatchUpdateStockResponse> {
    let caller = caller(&request)?;
    let mut set = asked::stock_set(request.into_inner())?;
    caller.speak_for(set.user_id)?;
    set.owner = caller.owner();
    let outcomes = shop.operations.set_stock(set).await?;
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    let result = |outcome: &ItemOutcome| proto::StockUpdateResult {
        product_id: outcome.item.product_id,
        variant_id: outcome.item.variant_id,
        stock_before: outcome.stock.0,
        stock_after: outcome.stock.1,
        success: outcome.error.is_none(),
        error: outcome.error.clone(),
    };
    Ok(Response::new(proto::BatchUpdateStockResponse {
        successful_count: messages::short((outcomes.len() - failed) as i64),
        failed_count: messages::short(failed as i64),
        results: outcomes.iter().map(result).collect(),
    }))
}
