//! Builds response messages, field by field.

use kit::clock::UtcMs;

use crate::categories::{Category, CategoryNode, level};
use crate::listing::{Image, Listing, Status};
use crate::price::hundredths_to_f64;
use crate::proto;
use crate::stats::StorefrontStats;
use crate::write::ItemOutcome;

/// A number for a field of 32 bits, clamped.
pub(super) fn to_i32(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}

/// Title and description, in the given language where there is a translation.
fn texts(listing: &Listing, lang: Option<&str>) -> (String, Option<String>) {
    match lang.and_then(|lang| listing.translations.get(lang)) {
        Some(translation) => {
            let description = Some(translation.description.clone()).filter(|text| !text.is_empty());
            (translation.title.clone(), description.or_else(|| listing.description.clone()))
        }
        None => (listing.title.clone(), listing.description.clone()),
    }
}

pub(super) fn listing(listing: &Listing, lang: Option<&str>) -> proto::Listing {
    let (title, description) = texts(listing, lang);
    let translation = |(tag, translation): (&String, &crate::listing::Translation)| {
        let (title, description) = (translation.title.clone(), translation.description.clone());
        (tag.clone(), proto::ListingTranslation { title, description })
    };
    proto::Listing {
        id: listing.id,
        uuid: listing.uuid.clone(),
        user_id: listing.user_id,
        storefront_id: listing.storefront_id,
        title,
        description,
        price: listing.price.to_f64(),
        currency: listing.currency.clone(),
        category_id: listing.category_id,
        status: listing.status.as_str().to_owned(),
        visibility: listing.visibility.as_str().to_owned(),
        quantity: listing.quantity,
        sku: listing.sku.clone(),
        views_count: listing.views,
        favorites_count: listing.favorites,
        created_at: listing.created_at.to_string(),
        updated_at: listing.updated_at.to_string(),
        published_at: listing.published_at.map(|at| at.to_string()),
        deleted_at: listing.deleted_at.map(|at| at.to_string()),
        is_deleted: listing.deleted_at.is_some(),
        images: listing.images.iter().map(|one| image(listing, one)).collect(),
        attributes: Vec::new(),
        tags: listing.tags.clone(),
        location: None,
        variants: Vec::new(),
        translations: listing.translations.iter().map(translation).collect(),
        original_language: listing.original_language.clone(),
    }
}

fn image(listing: &Listing, image: &Image) -> proto::ListingImage {
    let at = listing.created_at.to_string();
    proto::ListingImage {
        id: image.id,
        listing_id: listing.id,
        url: image.url.clone(),
        display_order: image.display_order,
        is_primary: image.is_primary,
        created_at: at.clone(),
        updated_at: at,
        ..proto::ListingImage::default()
    }
}

pub(super) fn product(listing: &Listing, lang: Option<&str>) -> proto::Product {
    let (name, description) = texts(listing, lang);
    let image = |image: &Image| {
        let at = listing.created_at.to_string();
        proto::ProductImage {
            id: image.id,
            product_id: listing.id,
            url: image.url.clone(),
            display_order: image.display_order,
            is_primary: image.is_primary,
            created_at: at.clone(),
            updated_at: at,
            ..proto::ProductImage::default()
        }
    };
    proto::Product {
        id: listing.id,
        storefront_id: listing.storefront_id.unwrap_or_default(),
        name,
        description: description.unwrap_or_default(),
        price: listing.price.to_f64(),
        currency: listing.currency.clone(),
        category_id: listing.category_id,
        sku: listing.sku.clone(),
        stock_quantity: listing.quantity,
        stock_status: listing.stock_status().to_owned(),
        is_active: listing.status == Status::Active,
        view_count: listing.views,
        sold_count: listing.sold,
        created_at: Some(timestamp(listing.created_at)),
        updated_at: Some(timestamp(listing.updated_at)),
        images: listing.images.iter().map(image).collect(),
        ..proto::Product::default()
    }
}

fn timestamp(at: UtcMs) -> prost_types::Timestamp {
    let nanos = i32::try_from(at.0.rem_euclid(1_000) * 1_000_000).unwrap_or_default();
    prost_types::Timestamp { seconds: at.0.div_euclid(1_000), nanos }
}

pub(super) fn stats(stats: &StorefrontStats) -> proto::ProductStats {
    proto::ProductStats {
        total_products: to_i32(stats.total),
        active_products: to_i32(stats.active),
        out_of_stock: to_i32(stats.out_of_stock),
        low_stock: to_i32(stats.low_stock),
        total_value: hundredths_to_f64(stats.value),
        total_sold: to_i32(stats.sold),
    }
}

/// Categories come with the service or from a file, and have the date of the first version.
const CATEGORIES_CREATED_AT: &str = "2026-01-01T00:00:00Z";

pub(super) fn category(all: &[Category], category: &Category) -> proto::Category {
    proto::Category {
        id: category.id,
        name: category.name.clone(),
        slug: category.slug.clone(),
        parent_id: category.parent_id,
        icon: category.icon.clone(),
        description: category.description.clone(),
        is_active: category.is_active,
        listing_count: to_i32(category.listings),
        sort_order: category.sort_order,
        level: level(all, category),
        translations: category.translations.clone().into_iter().collect(),
        has_custom_ui: category.custom_ui_component.is_some(),
        custom_ui_component: category.custom_ui_component.clone(),
        created_at: CATEGORIES_CREATED_AT.to_owned(),
    }
}

pub(super) fn node(node: &CategoryNode<'_>) -> proto::CategoryTreeNode {
    proto::CategoryTreeNode {
        id: node.category.id,
        name: node.category.name.clone(),
        slug: node.category.slug.clone(),
        icon: node.category.icon.clone(),
        parent_id: node.category.parent_id,
        level: node.level,
        path: node.path.clone(),
        listing_count: to_i32(node.category.listings),
        children_count: to_i32(node.children.len() as i64),
        children: node.children.iter().map(self::node).collect(),
        translations: node.category.translations.clone().into_iter().collect(),
        has_custom_ui: node.category.custom_ui_component.is_some(),
        custom_ui_component: node.category.custom_ui_component.clone(),
        created_at: CATEGORIES_CREATED_AT.to_owned(),
    }
}

pub(super) fn stock_result(outcome: &ItemOutcome) -> proto::StockResult {
    proto::StockResult {
        product_id: outcome.item.product_id,
        variant_id: outcome.item.variant_id,
        stock_before: outcome.stock.before,
        stock_after: outcome.stock.after,
        success: outcome.error.is_none(),
        error: outcome.error.clone(),
    }
}

pub(super) fn stock_update_result(outcome: &ItemOutcome) -> proto::StockUpdateResult {
    proto::StockUpdateResult {
        product_id: outcome.item.product_id,
        variant_id: outcome.item.variant_id,
        stock_before: outcome.stock.before,
        stock_after: outcome.stock.after,
        success: outcome.error.is_none(),
        error: outcome.error.clone(),
    }
}
