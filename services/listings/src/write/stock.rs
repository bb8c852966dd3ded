//! Stock. The row that is changed is the row that was locked and read, so that no movement can be lost.

use super::held::OrderLine;
use super::{
    Direction, Held, Item, ItemOutcome, Movement, MovementLine, OrderItems, Refused, StockSet, Written,
};
use crate::listing::Listing;
use kit::clock::UtcMs;

pub(super) fn move_one(held: &mut Held, movement: &Movement, now: UtcMs) -> Result<Written, Refused> {
    let product = product(held, (movement.product_id, Some(movement.storefront_id)))?;
    if movement.owner.is_some_and(|owner| owner != product.user_id) {
        return Err(Refused::NotOwner);
    }
    let before = product.quantity;
    let after = moved(before, movement.direction, movement.quantity).map_err(Refused::Precondition)?;
    product.quantity = after;
    product.updated_at = now;
    held.movements.push(MovementLine {
        listing_id: movement.product_id,
        direction: movement.direction,
        quantity: movement.quantity,
        stock: (before, after),
        reason: movement.reason.clone(),
        notes: movement.notes.clone(),
        user_id: movement.user_id,
    });
    Ok(Written::Moved(before, after))
}

fn moved(before: i32, direction: Direction, quantity: i32) -> Result<i32, String> {
    match direction {
        Direction::In => before.checked_add(quantity).ok_or_else(|| "more than can be in stock".to_owned()),
        Direction::Out if quantity > before => Err(insufficient(before, quantity)),
        Direction::Out => Ok(before - quantity),
        Direction::Adjustment => Ok(quantity),
    }
}

fn insufficient(available: i32, asked: i32) -> String {
    format!("{asked} were asked for and {available} are in stock")
}

/// Each item by itself: what cannot be set says why.
pub(super) fn set_all(held: &mut Held, set: &StockSet, now: UtcMs) -> Written {
    let outcome = |(item, reason): &(Item, Option<String>)| match no_variant(item) {
        Err(refused) => failed(*item, (0, refused.to_string())),
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
            match move_one(held, &movement, now) {
                Ok(Written::Moved(before, after)) => {
                    ItemOutcome { item: *item, stock: (before, after), error: None }
                }
                Ok(_) => failed(*item, (0, "nothing was moved".to_owned())),
                Err(refused) => failed(*item, (0, refused.to_string())),
            }
        }
    };
    Written::Items(set.items.iter().map(outcome).collect())
}

/// All of it or nothing. What an order took before is not taken again.
pub(super) fn take(held: &mut Held, order: &OrderItems, now: UtcMs) -> Result<Written, Refused> {
    order.items.iter().try_for_each(no_variant)?;
    if let Some(answer) = taken_before(held, order)? {
        return Ok(answer);
    }
    let mut outcomes = Vec::new();
    for item in &order.items {
        let stock = product(held, (item.product_id, None))?.quantity;
        let error = (item.quantity > stock).then(|| insufficient(stock, item.quantity));
        outcomes.push(ItemOutcome { item: *item, stock: (stock, stock), error });
    }
    if outcomes.iter().any(|outcome| outcome.error.is_some()) {
        return Ok(Written::Items(outcomes));
    }
    for outcome in &mut outcomes {
        let item = outcome.item;
        let product = product(held, (item.product_id, None))?;
        outcome.stock.1 = product.quantity - item.quantity;
        product.quantity = outcome.stock.1;
        product.sold = product.sold.saturating_add(item.quantity);
        product.updated_at = now;
        record(held, order, (outcome, Direction::Out));
    }
    Ok(Written::Items(outcomes))
}

/// The answer again, when the order has taken exactly this.
fn taken_before(held: &Held, order: &OrderItems) -> Result<Option<Written>, Refused> {
    let lines = order.order_id.as_ref().and_then(|id| held.orders.get(id)).filter(|lines| !lines.is_empty());
    let Some(lines) = lines else { return Ok(None) };
    if lines.values().any(|line| line.is_returned) {
        return Err(Refused::Precondition("the order was rolled back".to_owned()));
    }
    let again = |item: &Item| {
        let line = lines.get(&item.product_id).filter(|line| line.quantity == item.quantity)?;
        Some(ItemOutcome { item: *item, stock: line.stock, error: None })
    };
    let outcomes: Option<Vec<_>> = order.items.iter().map(again).collect();
    match outcomes.filter(|outcomes| outcomes.len() == lines.len()) {
        Some(outcomes) => Ok(Some(Written::Items(outcomes))),
        None => Err(Refused::Precondition("the order has taken other items before".to_owned())),
    }
}

/// Of an order, what it took and has not given back; without one, what is said.
pub(super) fn give_back(held: &mut Held, order: &OrderItems, now: UtcMs) -> Result<Written, Refused> {
    order.items.iter().try_for_each(no_variant)?;
    let mut outcomes = Vec::new();
    for item in &order.items {
        let stock = product(held, (item.product_id, None))?.quantity;
        let error = match line_of(held, order, item) {
            Some(None) => Some("the order has not taken it".to_owned()),
            Some(Some(line)) if line.quantity != item.quantity => {
                Some(format!("the order took {} of it", line.quantity))
            }
            _ if stock.checked_add(item.quantity).is_none() => Some("more than can be in stock".to_owned()),
            _ => None,
        };
        outcomes.push(ItemOutcome { item: *item, stock: (stock, stock), error });
    }
    if outcomes.iter().any(|outcome| outcome.error.is_some()) {
        return Ok(Written::Items(outcomes));
    }
    for outcome in &mut outcomes {
        let item = outcome.item;
        if line_of(held, order, &item).flatten().is_some_and(|line| line.is_returned) {
            continue;
        }
        let product = product(held, (item.product_id, None))?;
        outcome.stock.1 = product.quantity + item.quantity;
        product.quantity = outcome.stock.1;
        product.sold = (product.sold - item.quantity).max(0);
        product.updated_at = now;
        record(held, order, (outcome, Direction::In));
    }
    Ok(Written::Items(outcomes))
}

/// `None` without an order, `Some(None)` when the order has no such line.
fn line_of(held: &Held, order: &OrderItems, item: &Item) -> Option<Option<OrderLine>> {
    let id = order.order_id.as_ref()?;
    Some(held.orders.get(id).and_then(|lines| lines.get(&item.product_id)).copied())
}

fn record(held: &mut Held, order: &OrderItems, (outcome, direction): (&ItemOutcome, Direction)) {
    let ItemOutcome { item, stock, .. } = outcome;
    if let Some(id) = &order.order_id {
        let lines = held.orders.entry(id.clone()).or_default();
        let line = lines.entry(item.product_id).or_insert(OrderLine {
            quantity: item.quantity,
            stock: *stock,
            is_returned: false,
        });
        line.is_returned = direction == Direction::In;
        held.changed_orders.insert((id.clone(), item.product_id));
    }
    held.movements.push(MovementLine {
        listing_id: item.product_id,
        direction,
        quantity: item.quantity,
        stock: *stock,
        reason: Some(if direction == Direction::Out { "order" } else { "rollback" }.to_owned()),
        notes: order.order_id.clone(),
        user_id: 0,
    });
}

/// A product, of the storefront if one is named.
fn product(held: &mut Held, (id, storefront): (i64, Option<i64>)) -> Result<&mut Listing, Refused> {
    let product = held.listing("product", id)?;
    let is_theirs = match storefront {
        Some(storefront) => product.storefront_id == Some(storefront),
        None => product.storefront_id.is_some(),
    };
    if is_theirs { Ok(product) } else { Err(Refused::NotFound("product", id)) }
}

/// Products of this version have no variants.
fn no_variant(item: &Item) -> Result<(), Refused> {
    item.variant_id.map_or(Ok(()), |id| Err(Refused::NotFound("variant", id)))
}

fn failed(item: Item, (stock, error): (i32, String)) -> ItemOutcome {
    ItemOutcome { item, stock: (stock, stock), error: Some(error) }
}
