//! Stock. A movement changes the row that was locked and read, so that no movement can be lost.

use std::collections::{BTreeMap, HashSet};

use kit::clock::UtcMs;

use super::listings::require_owner;
use super::loaded_rows::OrderLine;
use super::{
    Direction, ItemOutcome, LoadedRows, Movement, MovementRecord, NewStock, OrderItems, ProductQuantity,
    StockLevels, StockSet, WriteOutcome, WriteRefusal,
};
use crate::listing::Listing;

pub(super) fn move_one(
    loaded: &mut LoadedRows,
    movement: &Movement,
    now: UtcMs,
) -> Result<WriteOutcome, WriteRefusal> {
    let product = product(loaded, movement.product_id, Some(movement.storefront_id))?;
    if let Some(owner) = movement.owner {
        require_owner(product, "product", owner)?;
    }
    let before = product.quantity;
    let after =
        stock_after(before, movement.direction, movement.quantity).map_err(WriteRefusal::Precondition)?;
    let stock = StockLevels { before, after };
    product.quantity = after;
    product.updated_at = now;
    loaded.movements.push(MovementRecord {
        listing_id: movement.product_id,
        direction: movement.direction,
        quantity: movement.quantity,
        stock,
        reason: movement.reason.clone(),
        notes: movement.notes.clone(),
        user_id: movement.user_id,
    });
    Ok(WriteOutcome::Moved(stock))
}

fn stock_after(before: i32, direction: Direction, quantity: i32) -> Result<i32, String> {
    match direction {
        Direction::In => before.checked_add(quantity).ok_or_else(|| "more than can be in stock".to_owned()),
        Direction::Out if quantity > before => Err(insufficient(before, quantity)),
        Direction::Out => Ok(before - quantity),
        Direction::Adjustment => Ok(quantity),
    }
}

fn insufficient(available: i32, requested: i32) -> String {
    format!("{requested} requested, {available} in stock")
}

/// Each item succeeds or fails by itself; the outcome of one that fails has the reason.
pub(super) fn set_all(loaded: &mut LoadedRows, set: &StockSet, now: UtcMs) -> WriteOutcome {
    let outcome = |NewStock { item, reason }: &NewStock| match no_variant(item) {
        Err(refused) => failed(*item, refused.to_string()),
        Ok(()) => {
            let movement = Movement {
                storefront_id: set.storefront_id,
                product_id: item.product_id,
                direction: Direction::Adjustment,
                quantity: item.quantity,
                reason: reason.clone(),
                notes: None,
                user_id: set.user_id,
                owner: set.owner,
            };
            match move_one(loaded, &movement, now) {
                Ok(WriteOutcome::Moved(stock)) => ItemOutcome { item: *item, stock, error: None },
                Ok(_) => failed(*item, "nothing was moved".to_owned()),
                Err(refused) => failed(*item, refused.to_string()),
            }
        }
    };
    WriteOutcome::Items(set.items.iter().map(outcome).collect())
}

/// Takes all items or none. An order that was taken before is not taken again.
pub(super) fn take(loaded: &mut LoadedRows, order: &OrderItems, now: UtcMs) -> WriteOutcome {
    let mut outcomes = checked(loaded, order, |item, stock| {
        (item.quantity > stock).then(|| insufficient(stock, item.quantity))
    });
    let lines = order.order_id.as_ref().and_then(|id| loaded.orders.get(id));
    if let Some(lines) = lines.filter(|lines| !lines.is_empty()) {
        return WriteOutcome::Items(taken_before(lines, &outcomes));
    }
    if outcomes.iter().any(|outcome| outcome.error.is_some()) {
        return WriteOutcome::Items(outcomes);
    }
    for outcome in &mut outcomes {
        let item = outcome.item;
        let Ok(product) = product(loaded, item.product_id, None) else { continue };
        outcome.stock.after = product.quantity - item.quantity;
        product.quantity = outcome.stock.after;
        product.sold = product.sold.saturating_add(item.quantity);
        product.updated_at = now;
        record(loaded, order, outcome, Direction::Out);
    }
    WriteOutcome::Items(outcomes)
}

/// Every item with its stock, and why it cannot be moved: because it is invalid, or for the given reason.
fn checked(
    loaded: &mut LoadedRows,
    order: &OrderItems,
    refuse: impl Fn(&ProductQuantity, i32) -> Option<String>,
) -> Vec<ItemOutcome> {
    let mut seen = HashSet::new();
    let mut outcome = |item: &ProductQuantity| match stock_of(loaded, item) {
        Ok(stock) => {
            let is_repeated = !seen.insert(item.product_id);
            let error = if is_repeated { Some("occurs twice".to_owned()) } else { refuse(item, stock) };
            ItemOutcome { item: *item, stock: StockLevels::unchanged(stock), error }
        }
        Err(why) => failed(*item, why),
    };
    order.items.iter().map(&mut outcome).collect()
}

fn stock_of(loaded: &mut LoadedRows, item: &ProductQuantity) -> Result<i32, String> {
    if item.product_id <= 0 {
        return Err("product_id: must be above 0".to_owned());
    }
    if item.quantity <= 0 {
        return Err("quantity: must be above 0".to_owned());
    }
    let found = no_variant(item).and_then(|()| product(loaded, item.product_id, None));
    found.map(|product| product.quantity).map_err(|refused| refused.to_string())
}

/// The earlier outcome, when the order has taken exactly these items; otherwise an error of each.
fn taken_before(lines: &BTreeMap<i64, OrderLine>, items: &[ItemOutcome]) -> Vec<ItemOutcome> {
    let refused = |why: &str| -> Vec<ItemOutcome> {
        items.iter().map(|one| ItemOutcome { error: Some(why.to_owned()), ..one.clone() }).collect()
    };
    if lines.values().any(|line| line.is_returned) {
        return refused("the order was rolled back");
    }
    let again = |ItemOutcome { item, .. }: &ItemOutcome| {
        let is_same = |line: &&OrderLine| line.quantity == item.quantity && item.variant_id.is_none();
        let line = lines.get(&item.product_id).filter(is_same)?;
        Some(ItemOutcome { item: *item, stock: line.stock, error: None })
    };
    let outcomes: Option<Vec<_>> = items.iter().map(again).collect();
    match outcomes.filter(|outcomes| outcomes.len() == lines.len()) {
        Some(outcomes) => outcomes,
        None => refused("the order has taken other items before"),
    }
}

/// Gives back all items or none: what the order took and has not given back; without an order id, the given items.
pub(super) fn give_back(loaded: &mut LoadedRows, order: &OrderItems, now: UtcMs) -> WriteOutcome {
    let lines = order.order_id.as_ref().map(|id| loaded.orders.get(id).cloned().unwrap_or_default());
    let line_of = |item: &ProductQuantity| lines.as_ref().map(|lines| lines.get(&item.product_id));
    let mut outcomes = checked(loaded, order, |item, stock| match line_of(item) {
        Some(None) => Some("the order has not taken it".to_owned()),
        Some(Some(line)) if line.quantity != item.quantity => {
            Some(format!("the order took {} of it", line.quantity))
        }
        _ if stock.checked_add(item.quantity).is_none() => Some("more than can be in stock".to_owned()),
        _ => None,
    });
    if outcomes.iter().any(|outcome| outcome.error.is_some()) {
        return WriteOutcome::Items(outcomes);
    }
    for outcome in &mut outcomes {
        let item = outcome.item;
        if line_of(&item).flatten().is_some_and(|line| line.is_returned) {
            continue;
        }
        let Ok(product) = product(loaded, item.product_id, None) else { continue };
        outcome.stock.after = product.quantity + item.quantity;
        product.quantity = outcome.stock.after;
        product.sold = (product.sold - item.quantity).max(0);
        product.updated_at = now;
        record(loaded, order, outcome, Direction::In);
    }
    WriteOutcome::Items(outcomes)
}

fn record(loaded: &mut LoadedRows, order: &OrderItems, outcome: &ItemOutcome, direction: Direction) {
    let ItemOutcome { item, stock, .. } = outcome;
    if let Some(id) = &order.order_id {
        let lines = loaded.orders.entry(id.clone()).or_default();
        let line = lines.entry(item.product_id).or_insert(OrderLine {
            quantity: item.quantity,
            stock: *stock,
            is_returned: false,
        });
        line.is_returned = direction == Direction::In;
        loaded.changed_orders.insert((id.clone(), item.product_id));
    }
    loaded.movements.push(MovementRecord {
        listing_id: item.product_id,
        direction,
        quantity: item.quantity,
        stock: *stock,
        reason: Some(if direction == Direction::Out { "order" } else { "rollback" }.to_owned()),
        notes: order.order_id.clone(),
        user_id: 0,
    });
}

/// A product; with `storefront`, a product of that storefront.
fn product(loaded: &mut LoadedRows, id: i64, storefront: Option<i64>) -> Result<&mut Listing, WriteRefusal> {
    let product = loaded.listing("product", id)?;
    let is_in_storefront = match storefront {
        Some(storefront) => product.storefront_id == Some(storefront),
        None => product.storefront_id.is_some(),
    };
    if is_in_storefront { Ok(product) } else { Err(WriteRefusal::NotFound("product", id)) }
}

/// Products of this version have no variants.
fn no_variant(item: &ProductQuantity) -> Result<(), WriteRefusal> {
    item.variant_id.map_or(Ok(()), |id| Err(WriteRefusal::NotFound("variant", id)))
}

fn failed(item: ProductQuantity, error: String) -> ItemOutcome {
    ItemOutcome { item, stock: StockLevels::unchanged(0), error: Some(error) }
}
