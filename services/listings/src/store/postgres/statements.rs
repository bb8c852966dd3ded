//! The prepared statements, except lists and searches, whose text depends on their filters.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kit::postgres::Prepared;
use tokio_postgres::{Client, Error, Statement};

macro_rules! listing_columns {
    () => {
        "id, uuid::text, user_id, storefront_id, title, description, price_hundredths, currency, category_id, status,
         visibility, quantity, sku, least(view_count + coalesce(views, 0), 2147483647)::int,
         greatest(favorites_count + coalesce(favorites, 0), 0)::int, sold_count, created_at, updated_at, published_at,
         translations, original_language, tags FROM listings LEFT JOIN listing_counters ON listing_id = id"
    };
}

pub(super) const LISTINGS: &str =
    concat!("SELECT ", listing_columns!(), " WHERE id = ANY($1) AND deleted_at IS NULL");
/// Locks in the order of ids, so that two writers cannot deadlock.
pub(super) const LOCK: &str = concat!(
    "SELECT ",
    listing_columns!(),
    " WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE OF listings"
);
pub(super) const IMAGES: &str = "
    SELECT listing_id, id, url, display_order, is_primary FROM listing_images WHERE listing_id = ANY($1)
    ORDER BY listing_id, display_order";
pub(super) const STATS: &str = "
    SELECT total, active, out_of_stock, low_stock, value_hundredths::text, sold FROM storefront_stats
    WHERE storefront_id = $1";
pub(super) const STOREFRONT_OWNER: &str = "SELECT user_id FROM storefronts WHERE storefront_id = $1";
pub(super) const CATEGORIES: &str = "
    SELECT id, name, slug, parent_id, sort_order, coalesce(listings, 0), icon, description, is_active, translations,
        custom_ui_component
    FROM categories LEFT JOIN category_counts ON category_id = id AND status = 'active' AND visibility = 'public'
    ORDER BY sort_order, id";
/// The page and the total in one statement, so that both read the same snapshot.
pub(super) const FAVORITES: &str = "
    SELECT array(SELECT listing_id FROM listing_favorites WHERE user_id = $1
                 ORDER BY marked_at DESC, listing_id DESC LIMIT $2 OFFSET $3),
           (SELECT count(*) FROM listing_favorites WHERE user_id = $1)";
pub(super) const FAVORED_BY: &str =
    "SELECT user_id FROM listing_favorites WHERE listing_id = $1 ORDER BY user_id LIMIT $2";
pub(super) const IS_FAVORITE: &str =
    "SELECT EXISTS (SELECT 1 FROM listing_favorites WHERE user_id = $1 AND listing_id = $2)";
/// One row more than an answer may have shows that there are more.
pub(super) const OF_SKUS: &str = "
    SELECT given.sku, found.id FROM unnest($1::text[]) AS given (sku) CROSS JOIN LATERAL (
        SELECT id FROM listings
        WHERE sku = given.sku AND deleted_at IS NULL AND storefront_id = coalesce($2::bigint, storefront_id)
        ORDER BY id LIMIT 1000) AS found
    LIMIT 1001";

/// Before all else in a transaction, so that the marker is locked until the transaction ends.
const MARK: &str = "UPDATE commit_markers SET last_group = $2 WHERE id = $1 RETURNING id";
const NEW_MARKER: &str = "INSERT INTO commit_markers DEFAULT VALUES RETURNING id";
const REMOVE_MARKER: &str = "DELETE FROM commit_markers WHERE id = $1";
const LOAD_FAVORITES: &str = "
    SELECT user_id, listing_id FROM listing_favorites
    WHERE (user_id, listing_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))";
const ORDERS: &str = "
    SELECT order_id, listing_id, quantity, stock_before, stock_after, is_returned FROM stock_orders
    WHERE order_id = ANY($1)";
const STOREFRONTS: &str = "SELECT storefront_id, user_id FROM storefronts WHERE storefront_id = ANY($1)";
const NEW_IDS: &str = "SELECT nextval('listings_id_seq') FROM generate_series(1, $1::bigint)";
const NEW_IMAGE_IDS: &str = "SELECT nextval('listing_images_id_seq') FROM generate_series(1, $1::bigint)";
const INSERT: &str = "
    INSERT INTO listings (id, uuid, user_id, storefront_id, title, description, price_hundredths, currency, category_id,
        status, visibility, quantity, sku, view_count, favorites_count, sold_count, created_at, updated_at, published_at,
        deleted_at, translations, original_language, tags)
    SELECT id, uuid::uuid, user_id, storefront_id, title, description, price, currency, category_id, status, visibility,
        quantity, sku, views, favorites, sold, created_at, updated_at, published_at, deleted_at, translations, language,
        tags
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[],
        $9::bigint[], $10::text[], $11::text[], $12::int[], $13::text[], $14::int[], $15::int[], $16::int[],
        $17::timestamptz[], $18::timestamptz[], $19::timestamptz[], $20::timestamptz[], $21::text[], $22::text[],
        $23::text[])
        AS new (id, uuid, user_id, storefront_id, title, description, price, currency, category_id, status, visibility,
        quantity, sku, views, favorites, sold, created_at, updated_at, published_at, deleted_at, translations, language, tags)";
const INSERT_IMAGES: &str = "
    INSERT INTO listing_images (listing_id, display_order, id, url, is_primary)
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::bool[])";
/// When another writer was the first, this fails, and the writes are decided again.
const INSERT_STOREFRONTS: &str =
    "INSERT INTO storefronts (storefront_id, user_id) SELECT * FROM unnest($1::bigint[], $2::bigint[])";
const UPDATE: &str = "
    UPDATE listings AS row SET title = new.title, description = new.description, price_hundredths = new.price,
        status = new.status, quantity = new.quantity, sold_count = new.sold, updated_at = new.updated_at, published_at = new.published_at,
        deleted_at = new.deleted_at, visibility = new.visibility, tags = new.tags
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::int[],
        $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::text[], $12::text[])
        AS new (id, title, description, price, status, quantity, sold, updated_at, published_at, deleted_at, visibility,
        tags)
    WHERE row.id = new.id";
/// In the order of the keys, so that two writers cannot deadlock.
const UPDATE_COUNTERS: &str = "
    INSERT INTO listing_counters AS kept (listing_id, views, favorites)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS new (listing_id, views, favorites) ORDER BY listing_id
    ON CONFLICT (listing_id) DO UPDATE SET views = kept.views + excluded.views,
        favorites = kept.favorites + excluded.favorites";
const DELETE_WORDS: &str = "
    DELETE FROM listing_words WHERE (word, listing_id) IN (SELECT * FROM unnest($1::text[], $2::bigint[]))";
const INSERT_WORDS: &str = "
    INSERT INTO listing_words (word, listing_id, category_id, price_hundredths)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])";
/// Later than the user's last favourite, also when the clock has been set back since.
const ADD_FAVORITES: &str = "
    INSERT INTO listing_favorites (user_id, listing_id, marked_at)
    SELECT user_id, listing_id, greatest($3, (SELECT max(marked_at) + interval '1 ms' FROM listing_favorites AS stored
                                              WHERE stored.user_id = new.user_id))
    FROM unnest($1::bigint[], $2::bigint[]) AS new (user_id, listing_id)";
const REMOVE_FAVORITES: &str = "
    DELETE FROM listing_favorites WHERE (user_id, listing_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))";
const CLEAR_FAVORITES: &str = "DELETE FROM listing_favorites WHERE listing_id = ANY($1)";
const MOVEMENTS: &str = "
    INSERT INTO inventory_movements (listing_id, movement_type, quantity, stock_before, stock_after, reason, notes,
        user_id, moved_at)
    SELECT listing_id, kind, quantity, before, after, reason, notes, user_id, $9
    FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::bigint[])
        AS new (listing_id, kind, quantity, before, after, reason, notes, user_id)";
const SAVE_ORDERS: &str = "
    INSERT INTO stock_orders (order_id, listing_id, quantity, stock_before, stock_after, is_returned)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::bool[])
    ON CONFLICT (order_id, listing_id) DO UPDATE SET is_returned = excluded.is_returned";
/// In the order of the keys, so that two writers cannot deadlock.
const UPDATE_STATS: &str = "
    INSERT INTO storefront_stats AS kept (storefront_id, total, active, out_of_stock, low_stock, value_hundredths, sold)
    SELECT id, total, active, out, low, value::numeric, sold
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[])
        AS new (id, total, active, out, low, value, sold)
    ORDER BY id
    ON CONFLICT (storefront_id) DO UPDATE SET total = kept.total + excluded.total,
        active = kept.active + excluded.active, out_of_stock = kept.out_of_stock + excluded.out_of_stock,
        low_stock = kept.low_stock + excluded.low_stock,
        value_hundredths = kept.value_hundredths + excluded.value_hundredths, sold = kept.sold + excluded.sold";
const UPDATE_COUNTS: &str = "
    INSERT INTO category_counts AS kept (category_id, status, visibility, listings)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
        AS new (category_id, status, visibility, listings)
    ORDER BY category_id, status, visibility
    ON CONFLICT (category_id, status, visibility) DO UPDATE SET listings = kept.listings + excluded.listings";
pub(super) const NEW_GENERATION: &str = "UPDATE cache_generation SET generation = generation + 1";
const GENERATION: &str = "SELECT generation FROM cache_generation";

macro_rules! prepared {
    ($(#[$doc:meta])* $name:ident { $($(#[$when:meta])* $field:ident = $text:ident,)* }) => {
        $(#[$doc])*
        pub(super) struct $name { $($(#[$when])* pub(super) $field: Statement,)* }

        impl Prepared for $name {
            async fn prepare(client: &Client) -> Result<Self, Error> {
                Ok(Self { $($(#[$when])* $field: client.prepare($text).await?,)* })
            }
        }
    };
}

prepared! {
    /// The statements of a reader whose text is fixed.
    FixedStatements {
        listings = LISTINGS,
        images = IMAGES,
        stats = STATS,
        storefront_owner = STOREFRONT_OWNER,
        categories = CATEGORIES,
        favorites = FAVORITES,
        favored_by = FAVORED_BY,
        is_favorite = IS_FAVORITE,
        of_skus = OF_SKUS,
    }
}

prepared! {
    WriterStatements {
        lock = LOCK,
        #[cfg(feature = "faults")]
        without_lock = LISTINGS,
        mark = MARK,
        new_marker = NEW_MARKER,
        remove_marker = REMOVE_MARKER,
        images = IMAGES,
        favorites = LOAD_FAVORITES,
        orders = ORDERS,
        storefronts = STOREFRONTS,
        new_ids = NEW_IDS,
        new_image_ids = NEW_IMAGE_IDS,
        insert = INSERT,
        insert_images = INSERT_IMAGES,
        insert_storefronts = INSERT_STOREFRONTS,
        update = UPDATE,
        update_counters = UPDATE_COUNTERS,
        delete_words = DELETE_WORDS,
        insert_words = INSERT_WORDS,
        add_favorites = ADD_FAVORITES,
        remove_favorites = REMOVE_FAVORITES,
        clear_favorites = CLEAR_FAVORITES,
        movements = MOVEMENTS,
        save_orders = SAVE_ORDERS,
        update_stats = UPDATE_STATS,
        update_counts = UPDATE_COUNTS,
        new_generation = NEW_GENERATION,
    }
}

prepared! {
    /// The statements of the maintenance task.
    MaintenanceStatements {
        generation = GENERATION,
    }
}

pub(super) struct ReaderStatements {
    pub(super) fixed: FixedStatements,
    /// Lists and searches by text; there is one for each combination of filters.
    pages: Mutex<HashMap<String, Statement>>,
}

impl Prepared for ReaderStatements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self { fixed: FixedStatements::prepare(client).await?, pages: Mutex::default() })
    }
}

impl ReaderStatements {
    /// The statement with this text, prepared on first use.
    pub(super) async fn page(&self, client: &Client, text: &str) -> Result<Statement, Error> {
        let pages = || self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = pages().get(text) {
            return Ok(statement.clone());
        }
        let statement = client.prepare(text).await?;
        pages().insert(text.to_owned(), statement.clone());
        Ok(statement)
    }
}
