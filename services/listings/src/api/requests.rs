//! Validates request messages. An invalid value is refused with the name of its field.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::find::{Filters, PageRange};
use crate::listing::{Status as ListingStatus, Translation, Visibility};
use crate::price::Price;
use crate::proto;
use crate::refusal::Refusal;
use crate::words::words_of;
use crate::write::{
    Direction, FavoriteKey, ListingEdit, Movement, NewListing, NewStock, OrderItems, ProductQuantity,
    StockSet,
};

const TITLE_CHARS: std::ops::RangeInclusive<usize> = 3..=255;
const MAX_DESCRIPTION_CHARS: usize = 5_000;
const MAX_QUERY_CHARS: usize = 500;
const MAX_QUERY_WORDS: usize = 16;
const MAX_SHORT_CHARS: usize = 100;
const MAX_NOTES_CHARS: usize = 1_000;
const MAX_TRANSLATIONS: usize = 20;
const MAX_TAGS: usize = 20;
const MAX_TAG_CHARS: usize = 50;
const DEFAULT_LIMIT: i32 = 20;
const MAX_LIMIT: i32 = 100;
const DEFAULT_SIMILAR: i32 = 10;
const MAX_SIMILAR: i32 = 20;
/// Rows that a page skips are read all the same; a page after the last listing of another skips none.
const MAX_OFFSET: i32 = 10_000;
const MAX_ITEMS: usize = 1_000;
const DEFAULT_CURRENCY: &str = "RSD";
const DEFAULT_LANGUAGE: &str = "sr";

type Validated<T> = Result<T, Refusal>;

fn invalid(field: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::Invalid(format!("{field}: {why}"))
}

pub(super) fn id(field: &str, id: i64) -> Validated<i64> {
    if id > 0 { Ok(id) } else { Err(invalid(field, "must be above 0")) }
}

fn maybe_id(field: &str, given: Option<i64>) -> Validated<Option<i64>> {
    given.map(|given| id(field, given)).transpose()
}

fn text(field: &str, text: String, max_chars: usize) -> Validated<String> {
    if text.len() > max_chars && text.chars().count() > max_chars {
        return Err(invalid(field, format!("must have at most {max_chars} characters")));
    }
    if text.contains('\0') {
        return Err(invalid(field, "must not contain the character NUL"));
    }
    Ok(text)
}

fn maybe_text(field: &str, given: Option<String>, max_chars: usize) -> Validated<Option<String>> {
    given.map(|given| text(field, given, max_chars)).transpose()
}

fn title(given: String) -> Validated<String> {
    let title = text("title", given, *TITLE_CHARS.end())?.trim().to_owned();
    if title.chars().count() < *TITLE_CHARS.start() {
        return Err(invalid("title", "must have 3 to 255 characters"));
    }
    Ok(title)
}

fn price(field: &str, double: f64) -> Validated<Price> {
    Price::from_f64(double).map_err(|error| invalid(field, error))
}

fn listing_price(double: f64) -> Validated<Price> {
    let price = price("price", double)?;
    if price == Price::default() { Err(invalid("price", "must be above 0")) } else { Ok(price) }
}

fn stock(field: &str, quantity: i32) -> Validated<i32> {
    if quantity < 0 { Err(invalid(field, "must not be negative")) } else { Ok(quantity) }
}

fn language(field: &str, given: &str) -> Validated<String> {
    let is_valid = (2..=35).contains(&given.len())
        && given.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_valid { Ok(given.to_owned()) } else { Err(invalid(field, "must be a language tag, like `sr`")) }
}

fn currency(given: String) -> Validated<String> {
    if given.is_empty() {
        return Ok(DEFAULT_CURRENCY.to_owned());
    }
    let is_valid = given.len() == 3 && given.bytes().all(|b| b.is_ascii_uppercase());
    if is_valid { Ok(given) } else { Err(invalid("currency", "must be three capital letters")) }
}

pub(super) fn range(limit: i32, offset: i32) -> Validated<PageRange> {
    if limit < 0 {
        return Err(invalid("limit", "must not be negative"));
    }
    if !(0..=MAX_OFFSET).contains(&offset) {
        return Err(invalid("offset", format!("must be from 0 to {MAX_OFFSET}")));
    }
    let limit = if limit == 0 { DEFAULT_LIMIT } else { limit.min(MAX_LIMIT) };
    Ok(PageRange { limit: limit.into(), offset: offset.into(), before: None })
}

/// The page before a listing, or one by its offset.
fn page_before(limit: i32, offset: i32, before: Option<i64>) -> Validated<PageRange> {
    let before = maybe_id("before_id", before)?;
    if before.is_some() && offset != 0 {
        return Err(invalid("offset", "must be 0 with before_id"));
    }
    if offset > MAX_OFFSET {
        return Err(invalid(
            "offset",
            format!("must be at most {MAX_OFFSET}; use before_id for further pages"),
        ));
    }
    Ok(PageRange { before, ..range(limit, offset)? })
}

pub(super) fn similar_limit(given: Option<i32>) -> Validated<i64> {
    match given.unwrap_or_default() {
        0 => Ok(DEFAULT_SIMILAR.into()),
        limit @ 1.. => Ok(limit.min(MAX_SIMILAR).into()),
        _ => Err(invalid("limit", "must not be negative")),
    }
}

/// Pages are numbered from 1; 0 is the first, too.
fn page(number: i32, size: i32) -> Validated<PageRange> {
    if number < 0 {
        return Err(invalid("page", "must not be negative"));
    }
    if size < 0 {
        return Err(invalid("page_size", "must not be negative"));
    }
    let limit = if size == 0 { DEFAULT_LIMIT } else { size.min(MAX_LIMIT) };
    let offset = i64::from(limit) * i64::from((number - 1).max(0));
    if offset > MAX_OFFSET.into() {
        return Err(invalid(
            "page",
            format!(
                "must begin at product {MAX_OFFSET} or before; use ListListings with before_id for further ones"
            ),
        ));
    }
    Ok(PageRange { limit: limit.into(), offset, before: None })
}

pub(super) fn list_products(message: proto::ListProductsRequest) -> Validated<(Filters, PageRange)> {
    let filters = Filters {
        storefront_id: Some(id("storefront_id", message.storefront_id)?),
        status: message.is_active_only.unwrap_or_default().then_some(ListingStatus::Active),
        ..Filters::default()
    };
    Ok((filters, page(message.page, message.page_size)?))
}

/// The default is ten.
pub(super) fn count(limit: i32) -> Validated<usize> {
    match limit {
        0 => Ok(10),
        1.. => Ok(usize::try_from(limit.min(MAX_LIMIT)).unwrap_or(10)),
        _ => Err(invalid("limit", "must not be negative")),
    }
}

pub(super) fn lang(given: Option<&str>) -> Validated<Option<String>> {
    given.filter(|given| !given.is_empty()).map(|given| language("lang", given)).transpose()
}

pub(super) fn favorite(user_id: i64, listing_id: i64) -> Validated<FavoriteKey> {
    Ok(FavoriteKey { user_id: id("user_id", user_id)?, listing_id: id("listing_id", listing_id)? })
}

pub(super) fn create(message: proto::CreateListingRequest) -> Validated<NewListing> {
    let original = message.original_language.filter(|language| !language.is_empty());
    Ok(NewListing {
        user_id: id("user_id", message.user_id)?,
        storefront_id: maybe_id("storefront_id", message.storefront_id)?,
        title: title(message.title)?,
        description: maybe_text("description", message.description, MAX_DESCRIPTION_CHARS)?,
        price: listing_price(message.price)?,
        currency: currency(message.currency)?,
        category_id: id("category_id", message.category_id)?,
        quantity: stock("quantity", message.quantity)?,
        sku: maybe_text("sku", message.sku, MAX_SHORT_CHARS)?.filter(|sku| !sku.is_empty()),
        translations: translations(message.translations)?,
        original_language: language("original_language", original.as_deref().unwrap_or(DEFAULT_LANGUAGE))?,
        images: Vec::new(),
        visibility: maybe_visibility(message.visibility)?.unwrap_or(Visibility::Public),
        tags: tags(message.tags)?,
        owner: None,
    })
}

fn translations(
    message: HashMap<String, proto::ListingTranslation>,
) -> Validated<BTreeMap<String, Translation>> {
    if message.len() > MAX_TRANSLATIONS {
        return Err(invalid("translations", format!("must be at most {MAX_TRANSLATIONS}")));
    }
    let one = |(tag, translation): (String, proto::ListingTranslation)| {
        let translation = Translation {
            title: title(translation.title)?,
            description: text("description", translation.description, MAX_DESCRIPTION_CHARS)?,
        };
        Ok((language("translations", &tag)?, translation))
    };
    message.into_iter().map(one).collect()
}

pub(super) fn edit(message: proto::UpdateListingRequest) -> Validated<ListingEdit> {
    let status = message.status.map(parse_status).transpose()?;
    Ok(ListingEdit {
        id: id("id", message.id)?,
        user_id: id("user_id", message.user_id)?,
        title: message.title.map(title).transpose()?,
        description: maybe_text("description", message.description, MAX_DESCRIPTION_CHARS)?,
        price: message.price.map(listing_price).transpose()?,
        quantity: message.quantity.map(|quantity| stock("quantity", quantity)).transpose()?,
        status,
        visibility: maybe_visibility(message.visibility)?,
        tags: message.tags.map(|given| tags(given.tags)).transpose()?,
    })
}

fn maybe_visibility(given: Option<String>) -> Validated<Option<Visibility>> {
    let unknown = || invalid("visibility", "must be public, private or unlisted");
    let parse = |name: String| Visibility::parse(&name).ok_or_else(unknown);
    given.filter(|name| !name.is_empty()).map(parse).transpose()
}

/// Without spaces around them, and each once.
fn tags(given: Vec<String>) -> Validated<Vec<String>> {
    if given.len() > MAX_TAGS {
        return Err(invalid("tags", format!("must be at most {MAX_TAGS}")));
    }
    let mut tags = Vec::with_capacity(given.len());
    for tag in given {
        let tag = text("tags", tag, MAX_TAG_CHARS)?.trim().to_owned();
        if tag.is_empty() {
            return Err(invalid("tags", "must not be empty"));
        }
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Ok(tags)
}

fn parse_status(name: String) -> Validated<ListingStatus> {
    let unknown = || invalid("status", "must be draft, active, inactive, sold or archived");
    ListingStatus::parse(&name).ok_or_else(unknown)
}

pub(super) fn search(message: proto::SearchListingsRequest) -> Validated<(Filters, PageRange)> {
    let query = text("query", message.query, MAX_QUERY_CHARS)?;
    let words: Vec<String> = words_of([query.as_str()]).into_iter().collect();
    if words.len() > MAX_QUERY_WORDS {
        return Err(invalid("query", format!("must have at most {MAX_QUERY_WORDS} words")));
    }
    let filters = Filters {
        status: words.is_empty().then_some(ListingStatus::Active),
        only_public: words.is_empty(),
        words,
        category_id: maybe_id("category_id", message.category_id)?,
        ..prices(message.min_price, message.max_price)?
    };
    narrow(&filters, "words in the query or a category_id")?;
    Ok((filters, page_before(message.limit, message.offset, message.before_id)?))
}

pub(super) fn list(message: proto::ListListingsRequest) -> Validated<(Filters, PageRange)> {
    let status = message.status.filter(|name| !name.is_empty());
    let filters = Filters {
        user_id: maybe_id("user_id", message.user_id)?,
        storefront_id: maybe_id("storefront_id", message.storefront_id)?,
        category_id: maybe_id("category_id", message.category_id)?,
        status: status.map(parse_status).transpose()?,
        ..prices(message.min_price, message.max_price)?
    };
    narrow(&filters, "a user_id, storefront_id or category_id")?;
    Ok((filters, page_before(message.limit, message.offset, message.before_id)?))
}

/// Refuses a filter by price alone, which would read every listing.
fn narrow(filters: &Filters, by: &str) -> Validated<()> {
    let prices = [("min_price", filters.min_price), ("max_price", filters.max_price)];
    match prices.iter().find(|(_, price)| price.is_some() && !filters.is_narrow()) {
        Some((field, _)) => Err(invalid(field, format!("needs {by} beside it"))),
        None => Ok(()),
    }
}

fn prices(min: Option<f64>, max: Option<f64>) -> Validated<Filters> {
    Ok(Filters {
        min_price: min.map(|double| price("min_price", double)).transpose()?,
        max_price: max.map(|double| price("max_price", double)).transpose()?,
        ..Filters::default()
    })
}

pub(super) fn ids(message: &[i64]) -> Validated<()> {
    at_most("product_ids", message.len())?;
    message.iter().try_for_each(|one| id("product_ids", *one).map(drop))
}

/// Each once, however often the request names it.
pub(super) fn skus(message: Vec<String>) -> Validated<BTreeSet<String>> {
    at_most("skus", message.len())?;
    message.into_iter().map(|sku| text("skus", sku, MAX_SHORT_CHARS)).collect()
}

fn at_most(field: &str, count: usize) -> Validated<()> {
    if count > MAX_ITEMS { Err(invalid(field, format!("must be at most {MAX_ITEMS}"))) } else { Ok(()) }
}

/// A movement, and the variant that the request names.
pub(super) struct RequestedMovement {
    pub(super) movement: Movement,
    pub(super) variant_id: Option<i64>,
}

pub(super) fn movement(message: proto::RecordInventoryMovementRequest) -> Validated<RequestedMovement> {
    let direction = match message.movement_type.as_str() {
        "in" => Direction::In,
        "out" => Direction::Out,
        "adjustment" => Direction::Adjustment,
        _ => return Err(invalid("movement_type", "must be in, out or adjustment")),
    };
    if message.quantity < i32::from(direction != Direction::Adjustment) {
        return Err(invalid("quantity", "must be above 0, for an adjustment at least 0"));
    }
    let movement = Movement {
        storefront_id: id("storefront_id", message.storefront_id)?,
        product_id: id("product_id", message.product_id)?,
        direction,
        quantity: message.quantity,
        reason: maybe_text("reason", message.reason, MAX_SHORT_CHARS)?,
        notes: maybe_text("notes", message.notes, MAX_NOTES_CHARS)?,
        user_id: id("user_id", message.user_id)?,
        owner: None,
    };
    Ok(RequestedMovement { movement, variant_id: message.variant_id })
}

/// A product that occurs twice in a request is ambiguous and refused.
fn distinct(items: &[ProductQuantity]) -> Validated<()> {
    if items.is_empty() {
        return Err(invalid("items", "must be at least one"));
    }
    at_most("items", items.len())?;
    let mut seen = HashSet::new();
    match items.iter().find(|item| !seen.insert((item.product_id, item.variant_id))) {
        Some(item) => Err(invalid("items", format!("product {} occurs twice", item.product_id))),
        None => Ok(()),
    }
}

pub(super) fn items(message: Vec<proto::StockItem>) -> Validated<Vec<ProductQuantity>> {
    let item = |message: proto::StockItem| {
        if message.quantity <= 0 {
            return Err(invalid("quantity", "must be above 0"));
        }
        let product_id = id("product_id", message.product_id)?;
        Ok(ProductQuantity { product_id, variant_id: message.variant_id, quantity: message.quantity })
    };
    let items: Vec<ProductQuantity> = message.into_iter().map(item).collect::<Validated<_>>()?;
    distinct(&items).map(|()| items)
}

/// `None` without items. Each item is checked when the order is carried out, and has an error of its own.
pub(super) fn order(
    message: Vec<proto::StockItem>,
    order_id: Option<String>,
) -> Validated<Option<OrderItems>> {
    let order_id = maybe_text("order_id", order_id, MAX_SHORT_CHARS)?.filter(|id| !id.is_empty());
    at_most("items", message.len())?;
    let item = |message: &proto::StockItem| ProductQuantity {
        product_id: message.product_id,
        variant_id: message.variant_id,
        quantity: message.quantity,
    };
    let items: Vec<ProductQuantity> = message.iter().map(item).collect();
    Ok((!items.is_empty()).then_some(OrderItems { items, order_id }))
}

pub(super) fn stock_set(message: proto::BatchUpdateStockRequest) -> Validated<StockSet> {
    let common = maybe_text("reason", message.reason, MAX_SHORT_CHARS)?;
    let item = |message: proto::StockUpdateItem| {
        let product_id = id("product_id", message.product_id)?;
        let quantity = stock("quantity", message.quantity)?;
        let reason = maybe_text("reason", message.reason, MAX_SHORT_CHARS)?.or_else(|| common.clone());
        let item = ProductQuantity { product_id, variant_id: message.variant_id, quantity };
        Ok(NewStock { item, reason })
    };
    let items: Vec<_> = message.items.into_iter().map(item).collect::<Validated<_>>()?;
    distinct(&items.iter().map(|new: &NewStock| new.item).collect::<Vec<_>>())?;
    Ok(StockSet {
        storefront_id: id("storefront_id", message.storefront_id)?,
        items,
        user_id: id("user_id", message.user_id)?,
        owner: None,
    })
}
