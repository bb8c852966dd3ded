//! What messages ask for, checked. Whatever cannot be meant is refused with the name of its field.

use crate::find::{Filters, Slice};
use crate::listing::{Status as Standing, Translation};
use crate::operations::Refusal;
use crate::price::Price;
use crate::proto;
use crate::words::words_of;
use crate::write::{Direction, Edit, Item, Movement, NewListing, OrderItems, StockSet};
use std::collections::{BTreeMap, HashMap, HashSet};

const TITLE_CHARS: std::ops::RangeInclusive<usize> = 3..=255;
const MAX_DESCRIPTION_CHARS: usize = 5_000;
const MAX_QUERY_CHARS: usize = 500;
const MAX_QUERY_WORDS: usize = 16;
const MAX_SHORT_CHARS: usize = 100;
const MAX_NOTES_CHARS: usize = 1_000;
const MAX_TRANSLATIONS: usize = 20;
const DEFAULT_LIMIT: i32 = 20;
const MAX_LIMIT: i32 = 100;
const MAX_OFFSET: i32 = 1_000_000;
const MAX_ITEMS: usize = 1_000;
const DEFAULT_CURRENCY: &str = "RSD";
const DEFAULT_LANGUAGE: &str = "sr";

type Checked<T> = Result<T, Refusal>;

fn invalid(field: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::Invalid(format!("{field}: {why}"))
}

pub(super) fn id(field: &str, id: i64) -> Checked<i64> {
    if id > 0 { Ok(id) } else { Err(invalid(field, "must be above 0")) }
}

fn maybe_id(field: &str, given: Option<i64>) -> Checked<Option<i64>> {
    given.map(|given| id(field, given)).transpose()
}

fn text(field: &str, text: String, max_chars: usize) -> Checked<String> {
    if text.len() > max_chars && text.chars().count() > max_chars {
        return Err(invalid(field, format!("must have at most {max_chars} characters")));
    }
    if text.contains('\0') {
        return Err(invalid(field, "must not hold the character 0"));
    }
    Ok(text)
}

fn maybe_text(field: &str, given: Option<String>, max_chars: usize) -> Checked<Option<String>> {
    given.map(|given| text(field, given, max_chars)).transpose()
}

fn title(given: String) -> Checked<String> {
    let title = text("title", given, *TITLE_CHARS.end())?.trim().to_owned();
    if title.chars().count() < *TITLE_CHARS.start() {
        return Err(invalid("title", "must have 3 to 255 characters"));
    }
    Ok(title)
}

fn price(field: &str, double: f64) -> Checked<Price> {
    Price::of_double(double).map_err(|error| invalid(field, error))
}

fn price_of_listing(double: f64) -> Checked<Price> {
    let price = price("price", double)?;
    if price == Price::default() { Err(invalid("price", "must be above 0")) } else { Ok(price) }
}

fn stock(field: &str, quantity: i32) -> Checked<i32> {
    if quantity < 0 { Err(invalid(field, "must not be negative")) } else { Ok(quantity) }
}

fn language(field: &str, given: &str) -> Checked<String> {
    let is_fit = (2..=35).contains(&given.len())
        && given.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_fit {
        Ok(given.to_owned())
    } else {
        Err(invalid(field, "must be the tag of a language, like `sr`"))
    }
}

fn currency(given: String) -> Checked<String> {
    if given.is_empty() {
        return Ok(DEFAULT_CURRENCY.to_owned());
    }
    let is_fit = given.len() == 3 && given.bytes().all(|b| b.is_ascii_uppercase());
    if is_fit { Ok(given) } else { Err(invalid("currency", "must be three capital letters")) }
}

pub(super) fn slice(limit: i32, offset: i32) -> Checked<Slice> {
    if limit < 0 {
        return Err(invalid("limit", "must not be negative"));
    }
    if !(0..=MAX_OFFSET).contains(&offset) {
        return Err(invalid("offset", format!("must be from 0 to {MAX_OFFSET}")));
    }
    let limit = if limit == 0 { DEFAULT_LIMIT } else { limit.min(MAX_LIMIT) };
    Ok(Slice { limit: limit.into(), offset: offset.into() })
}

/// Ten when none is given.
pub(super) fn count(limit: i32) -> Checked<usize> {
    match limit {
        0 => Ok(10),
        1.. => Ok(usize::try_from(limit.min(MAX_LIMIT)).unwrap_or(10)),
        _ => Err(invalid("limit", "must not be negative")),
    }
}

pub(super) fn lang(given: Option<&str>) -> Checked<Option<String>> {
    given.filter(|given| !given.is_empty()).map(|given| language("lang", given)).transpose()
}

pub(super) fn create(asked: proto::CreateListingRequest) -> Checked<NewListing> {
    let original = asked.original_language.filter(|language| !language.is_empty());
    Ok(NewListing {
        user_id: id("user_id", asked.user_id)?,
        storefront_id: maybe_id("storefront_id", asked.storefront_id)?,
        title: title(asked.title)?,
        description: maybe_text("description", asked.description, MAX_DESCRIPTION_CHARS)?,
        price: price_of_listing(asked.price)?,
        currency: currency(asked.currency)?,
        category_id: id("category_id", asked.category_id)?,
        quantity: stock("quantity", asked.quantity)?,
        sku: maybe_text("sku", asked.sku, MAX_SHORT_CHARS)?.filter(|sku| !sku.is_empty()),
        translations: translations(asked.translations)?,
        original_language: language("original_language", original.as_deref().unwrap_or(DEFAULT_LANGUAGE))?,
        images: Vec::new(),
    })
}

fn translations(asked: HashMap<String, proto::ListingTranslation>) -> Checked<BTreeMap<String, Translation>> {
    if asked.len() > MAX_TRANSLATIONS {
        return Err(invalid("translations", format!("must be at most {MAX_TRANSLATIONS}")));
    }
    let one = |(tag, translation): (String, proto::ListingTranslation)| {
        let translation = Translation {
            title: title(translation.title)?,
            description: text("description", translation.description, MAX_DESCRIPTION_CHARS)?,
        };
        Ok((language("translations", &tag)?, translation))
    };
    asked.into_iter().map(one).collect()
}

pub(super) fn edit(asked: proto::UpdateListingRequest) -> Checked<Edit> {
    let unknown = || invalid("status", "must be draft, active, inactive, sold or archived");
    let status = asked.status.map(|word| Standing::of_word(&word).ok_or_else(unknown)).transpose()?;
    Ok(Edit {
        id: id("id", asked.id)?,
        user_id: id("user_id", asked.user_id)?,
        title: asked.title.map(title).transpose()?,
        description: maybe_text("description", asked.description, MAX_DESCRIPTION_CHARS)?,
        price: asked.price.map(price_of_listing).transpose()?,
        quantity: asked.quantity.map(|quantity| stock("quantity", quantity)).transpose()?,
        status,
    })
}

pub(super) fn search(asked: proto::SearchListingsRequest) -> Checked<(Filters, Slice)> {
    let query = text("query", asked.query, MAX_QUERY_CHARS)?;
    let words: Vec<String> = words_of([query.as_str()]).into_iter().collect();
    if words.len() > MAX_QUERY_WORDS {
        return Err(invalid("query", format!("must have at most {MAX_QUERY_WORDS} words")));
    }
    let filters = Filters {
        status: words.is_empty().then_some(Standing::Active),
        words,
        category_id: maybe_id("category_id", asked.category_id)?,
        ..prices(asked.min_price, asked.max_price)?
    };
    Ok((filters, slice(asked.limit, asked.offset)?))
}

pub(super) fn list(asked: proto::ListListingsRequest) -> Checked<(Filters, Slice)> {
    let unknown = || invalid("status", "must be draft, active, inactive, sold or archived");
    let status = asked.status.filter(|word| !word.is_empty());
    let filters = Filters {
        user_id: maybe_id("user_id", asked.user_id)?,
        storefront_id: maybe_id("storefront_id", asked.storefront_id)?,
        category_id: maybe_id("category_id", asked.category_id)?,
        status: status.map(|word| Standing::of_word(&word).ok_or_else(unknown)).transpose()?,
        ..prices(asked.min_price, asked.max_price)?
    };
    Ok((filters, slice(asked.limit, asked.offset)?))
}

fn prices(min: Option<f64>, max: Option<f64>) -> Checked<Filters> {
    Ok(Filters {
        min_price: min.map(|double| price("min_price", double)).transpose()?,
        max_price: max.map(|double| price("max_price", double)).transpose()?,
        ..Filters::default()
    })
}

pub(super) fn ids(asked: &[i64]) -> Checked<()> {
    at_most("product_ids", asked.len())?;
    asked.iter().try_for_each(|one| id("product_ids", *one).map(drop))
}

pub(super) fn skus(asked: Vec<String>) -> Checked<Vec<String>> {
    at_most("skus", asked.len())?;
    asked.into_iter().map(|sku| text("skus", sku, MAX_SHORT_CHARS)).collect()
}

fn at_most(field: &str, count: usize) -> Checked<()> {
    if count > MAX_ITEMS { Err(invalid(field, format!("must be at most {MAX_ITEMS}"))) } else { Ok(()) }
}

pub(super) fn movement(asked: proto::RecordInventoryMovementRequest) -> Checked<(Movement, Option<i64>)> {
    let direction = match asked.movement_type.as_str() {
        "in" => Direction::In,
        "out" => Direction::Out,
        "adjustment" => Direction::Adjustment,
        _ => return Err(invalid("movement_type", "must be in, out or adjustment")),
    };
    if asked.quantity < i32::from(direction != Direction::Adjustment) {
        return Err(invalid("quantity", "must be above 0, for an adjustment at least 0"));
    }
    let movement = Movement {
        storefront_id: id("storefront_id", asked.storefront_id)?,
        product_id: id("product_id", asked.product_id)?,
        direction,
        quantity: asked.quantity,
        reason: maybe_text("reason", asked.reason, MAX_SHORT_CHARS)?,
        notes: maybe_text("notes", asked.notes, MAX_NOTES_CHARS)?,
        user_id: id("user_id", asked.user_id)?,
        owner: None,
    };
    Ok((movement, asked.variant_id))
}

/// Products that stand in a request twice could be meant in two ways, so they are refused.
fn distinct(items: &[Item]) -> Checked<()> {
    if items.is_empty() {
        return Err(invalid("items", "must be at least one"));
    }
    at_most("items", items.len())?;
    let mut seen = HashSet::new();
    match items.iter().find(|item| !seen.insert((item.product_id, item.variant_id))) {
        Some(item) => Err(invalid("items", format!("product {} stands there twice", item.product_id))),
        None => Ok(()),
    }
}

pub(super) fn items(asked: Vec<proto::StockItem>) -> Checked<Vec<Item>> {
    let item = |asked: proto::StockItem| {
        if asked.quantity <= 0 {
            return Err(invalid("quantity", "must be above 0"));
        }
        let product_id = id("product_id", asked.product_id)?;
        Ok(Item { product_id, variant_id: asked.variant_id, quantity: asked.quantity })
    };
    let items: Vec<Item> = asked.into_iter().map(item).collect::<Checked<_>>()?;
    distinct(&items).map(|()| items)
}

pub(super) fn order(asked: Vec<proto::StockItem>, order_id: Option<String>) -> Checked<OrderItems> {
    let order_id = maybe_text("order_id", order_id, MAX_SHORT_CHARS)?.filter(|id| !id.is_empty());
    Ok(OrderItems { items: items(asked)?, order_id })
}

pub(super) fn stock_set(asked: proto::BatchUpdateStockRequest) -> Checked<StockSet> {
    let common = maybe_text("reason", asked.reason, MAX_SHORT_CHARS)?;
    let item = |asked: proto::StockUpdateItem| {
        let product_id = id("product_id", asked.product_id)?;
        let quantity = stock("quantity", asked.quantity)?;
        let reason = maybe_text("reason", asked.reason, MAX_SHORT_CHARS)?.or_else(|| common.clone());
        Ok((Item { product_id, variant_id: asked.variant_id, quantity }, reason))
    };
    let items: Vec<_> = asked.items.into_iter().map(item).collect::<Checked<_>>()?;
    distinct(&items.iter().map(|(item, _)| *item).collect::<Vec<_>>())?;
    Ok(StockSet {
        storefront_id: id("storefront_id", asked.storefront_id)?,
        items,
        user_id: id("user_id", asked.user_id)?,
        owner: None,
    })
}
