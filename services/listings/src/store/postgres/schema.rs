//! The schema in PostgreSQL: forward migrations only, one for each version.

use kit::store::Migrations;

/// Each entry migrates the schema from its index to the next version. Entries are never changed, only added.
///
/// The tables are those of the embedded store. `listing_counters` has what was counted since `listings` had its last own
/// counts, to which it is added: a count rewrites no row of `listings`, and programs that count there do no harm. `price` contains the exact amount for people who read the database.
/// `commit_markers` has one row for each writer: the last group that it committed. `cache_generation` has one row: the
/// generation of cached answers in Redis that may be used.
pub(super) const MIGRATIONS: Migrations =
    Migrations { service: "listings", first_table: "categories", steps: &STEPS };

/// Programs that know the first four steps work on the newest schema.
pub(super) const OLDEST: usize = 4;

const STEPS: [&str; 6] = [
    "
    CREATE TABLE categories (
        id BIGINT PRIMARY KEY,
        name TEXT NOT NULL,
        slug TEXT NOT NULL UNIQUE,
        parent_id BIGINT,
        sort_order INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE listings (
        id BIGSERIAL PRIMARY KEY,
        uuid UUID NOT NULL,
        user_id BIGINT NOT NULL CHECK (user_id > 0),
        storefront_id BIGINT,
        title TEXT NOT NULL CHECK (length(title) >= 3),
        description TEXT,
        price_hundredths BIGINT NOT NULL CHECK (price_hundredths > 0),
        price NUMERIC(15, 2) GENERATED ALWAYS AS (price_hundredths / 100.0) STORED,
        currency TEXT NOT NULL DEFAULT 'RSD',
        category_id BIGINT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'inactive', 'sold', 'archived')),
        visibility TEXT NOT NULL CHECK (visibility IN ('public', 'private', 'unlisted')),
        quantity INTEGER NOT NULL CHECK (quantity >= 0),
        sku TEXT,
        view_count INTEGER NOT NULL DEFAULT 0,
        favorites_count INTEGER NOT NULL DEFAULT 0,
        sold_count INTEGER NOT NULL DEFAULT 0,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        published_at TIMESTAMPTZ,
        deleted_at TIMESTAMPTZ,
        translations TEXT,
        original_language TEXT NOT NULL
    ) WITH (fillfactor = 85);
    CREATE INDEX listings_of_storefront ON listings (storefront_id, id)
        WHERE deleted_at IS NULL AND storefront_id IS NOT NULL;
    CREATE INDEX listings_of_user ON listings (user_id, id) WHERE deleted_at IS NULL;
    CREATE INDEX listings_of_category ON listings (category_id, status, id) WHERE deleted_at IS NULL;
    CREATE INDEX listings_of_sku ON listings (sku) WHERE deleted_at IS NULL AND sku IS NOT NULL;
    CREATE SEQUENCE listing_images_id_seq;
    CREATE TABLE listing_images (
        listing_id BIGINT NOT NULL,
        display_order INTEGER NOT NULL,
        id BIGINT NOT NULL,
        url TEXT NOT NULL,
        is_primary BOOLEAN NOT NULL,
        PRIMARY KEY (listing_id, display_order)
    );
    CREATE TABLE listing_words (
        word TEXT COLLATE \"C\" NOT NULL,
        listing_id BIGINT NOT NULL,
        category_id BIGINT NOT NULL,
        price_hundredths BIGINT NOT NULL,
        PRIMARY KEY (word, listing_id) INCLUDE (category_id, price_hundredths)
    );
    CREATE TABLE listing_favorites (
        user_id BIGINT NOT NULL,
        listing_id BIGINT NOT NULL,
        marked_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (user_id, listing_id)
    );
    CREATE INDEX favorites_of_listing ON listing_favorites (listing_id, user_id);
    CREATE INDEX favorites_in_order ON listing_favorites (user_id, marked_at, listing_id);
    CREATE TABLE inventory_movements (
        id BIGSERIAL PRIMARY KEY,
        listing_id BIGINT NOT NULL,
        movement_type TEXT NOT NULL,
        quantity INTEGER NOT NULL,
        stock_before INTEGER NOT NULL,
        stock_after INTEGER NOT NULL,
        reason TEXT,
        notes TEXT,
        user_id BIGINT NOT NULL,
        moved_at TIMESTAMPTZ NOT NULL
    );
    CREATE TABLE stock_orders (
        order_id TEXT NOT NULL,
        listing_id BIGINT NOT NULL,
        quantity INTEGER NOT NULL,
        stock_before INTEGER NOT NULL,
        stock_after INTEGER NOT NULL,
        is_returned BOOLEAN NOT NULL,
        PRIMARY KEY (order_id, listing_id)
    );
    CREATE TABLE storefront_stats (
        storefront_id BIGINT PRIMARY KEY,
        total BIGINT NOT NULL,
        active BIGINT NOT NULL,
        out_of_stock BIGINT NOT NULL,
        low_stock BIGINT NOT NULL,
        value_hundredths NUMERIC(40) NOT NULL,
        sold BIGINT NOT NULL
    ) WITH (fillfactor = 70);
    CREATE TABLE category_counts (
        category_id BIGINT NOT NULL,
        status TEXT NOT NULL,
        listings BIGINT NOT NULL,
        PRIMARY KEY (category_id, status)
    ) WITH (fillfactor = 70);
    CREATE TABLE cache_generation (
        only_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
        generation BIGINT NOT NULL
    ) WITH (fillfactor = 50);
    INSERT INTO cache_generation (generation) VALUES (1);
",
    "
    CREATE INDEX listings_by_price ON listings (category_id, price_hundredths, id)
        WHERE deleted_at IS NULL AND status = 'active' AND visibility = 'public';
",
    "
    CREATE TABLE storefronts (
        storefront_id BIGINT PRIMARY KEY,
        user_id BIGINT NOT NULL
    );
    CREATE TABLE commit_markers (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        last_group BIGINT NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    INSERT INTO storefronts SELECT storefront_id, user_id FROM listings
        WHERE id IN (SELECT min(id) FROM listings WHERE storefront_id IS NOT NULL GROUP BY storefront_id);
",
    "
    ALTER TABLE listings ADD COLUMN tags TEXT;
    ALTER TABLE categories ADD COLUMN icon TEXT, ADD COLUMN description TEXT,
        ADD COLUMN is_active BOOLEAN NOT NULL DEFAULT true, ADD COLUMN translations TEXT,
        ADD COLUMN custom_ui_component TEXT;
    DROP TABLE category_counts;
    CREATE TABLE category_counts (
        category_id BIGINT NOT NULL,
        status TEXT NOT NULL,
        visibility TEXT NOT NULL,
        listings BIGINT NOT NULL,
        PRIMARY KEY (category_id, status, visibility)
    ) WITH (fillfactor = 70);
    INSERT INTO category_counts SELECT category_id, status, visibility, count(*) FROM listings
        WHERE deleted_at IS NULL GROUP BY category_id, status, visibility;
",
    "
    CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_by_status ON listings (status, id)
        WHERE deleted_at IS NULL AND visibility = 'public'
",
    "
    CREATE TABLE listing_counters (
        listing_id BIGINT PRIMARY KEY,
        views BIGINT NOT NULL,
        favorites BIGINT NOT NULL
    ) WITH (fillfactor = 70);
",
];
