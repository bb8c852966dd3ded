//! Stock.

use std::collections::HashMap;

use super::requests::RequestedMovement;
use super::{Api, ApiResult, messages, requests};
use crate::caller::Caller;
use crate::proto;
use crate::refusal::Refusal;
use crate::write::{ItemOutcome, ProductQuantity};

struct OrderResult {
    success: bool,
    error: Option<String>,
    results: Vec<proto::StockResult>,
}

impl OrderResult {
    /// Of an order that was carried out, or of which nothing was; then the error is that of the first item with one.
    fn from_outcomes(outcomes: &[ItemOutcome]) -> Self {
        let failed = outcomes.iter().find_map(|outcome| Some((outcome.item, outcome.error.as_ref()?)));
        let error =
            failed.map(|(item, error)| format!("nothing was changed: product {}: {error}", item.product_id));
        Self {
            success: error.is_none(),
            error,
            results: outcomes.iter().map(messages::stock_result).collect(),
        }
    }

    fn without_items() -> Self {
        let error = Some("nothing was changed: items: must be at least one".to_owned());
        Self { success: false, error, results: Vec::new() }
    }
}

impl Api {
    /// Orders have no owner: where callers are identified, only services may take them.
    pub(crate) async fn decrement_stock(
        &self,
        caller: &Caller,
        message: proto::DecrementStockRequest,
    ) -> ApiResult<proto::DecrementStockResponse> {
        caller.require_service()?;
        let order = requests::order(message.items, message.order_id)?;
        let OrderResult { success, error, results } = match order {
            Some(order) => OrderResult::from_outcomes(&self.operations.take(order).await?),
            None => OrderResult::without_items(),
        };
        Ok(proto::DecrementStockResponse { success, error, results })
    }

    pub(crate) async fn rollback_stock(
        &self,
        caller: &Caller,
        message: proto::RollbackStockRequest,
    ) -> ApiResult<proto::RollbackStockResponse> {
        caller.require_service()?;
        let order = requests::order(message.items, message.order_id)?;
        let OrderResult { success, error, results } = match order {
            Some(order) => OrderResult::from_outcomes(&self.operations.give_back(order).await?),
            None => OrderResult::without_items(),
        };
        Ok(proto::RollbackStockResponse { success, error, results })
    }

    /// Of a product that does not exist nothing is available; products have no variants.
    pub(crate) async fn check_stock_availability(
        &self,
        caller: &Caller,
        message: proto::CheckStockAvailabilityRequest,
    ) -> ApiResult<proto::CheckStockAvailabilityResponse> {
        let items = requests::items(message.items)?;
        let ids: Vec<i64> = items.iter().map(|item| item.product_id).collect();
        let products = self.operations.products(caller, &ids, None).await?;
        let stocks: HashMap<i64, i32> =
            products.iter().map(|product| (product.id, product.quantity)).collect();
        let available = |item: &ProductQuantity| {
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
        Ok(proto::CheckStockAvailabilityResponse { all_available, items })
    }

    pub(crate) async fn record_inventory_movement(
        &self,
        caller: &Caller,
        message: proto::RecordInventoryMovementRequest,
    ) -> ApiResult<proto::RecordInventoryMovementResponse> {
        let RequestedMovement { mut movement, variant_id } = requests::movement(message)?;
        caller.require_user(movement.user_id)?;
        if let Some(id) = variant_id {
            return Err(Refusal::NotFound("variant", id));
        }
        movement.owner = caller.owner();
        let stock = self.operations.move_stock(movement).await?;
        Ok(proto::RecordInventoryMovementResponse {
            success: true,
            stock_before: stock.before,
            stock_after: stock.after,
            error: None,
        })
    }

    pub(crate) async fn batch_update_stock(
        &self,
        caller: &Caller,
        message: proto::BatchUpdateStockRequest,
    ) -> ApiResult<proto::BatchUpdateStockResponse> {
        let mut set = requests::stock_set(message)?;
        caller.require_user(set.user_id)?;
        set.owner = caller.owner();
        let outcomes = self.operations.set_stock(set).await?;
        let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
        Ok(proto::BatchUpdateStockResponse {
            successful_count: messages::to_i32((outcomes.len() - failed) as i64),
            failed_count: messages::to_i32(failed as i64),
            results: outcomes.iter().map(messages::stock_update_result).collect(),
        })
    }
}
