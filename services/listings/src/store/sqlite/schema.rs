//! The schema in SQLite: forward migrations only, one for each version.

use kit::store::Migrations;

/// Each entry migrates the schema from its index to the next version. Entries are never changed, only added.
///
/// Amounts are hundredths and times UTC milliseconds. `listing_words` has an entry for each word of each searchable
/// listing, with the columns that searches filter by, in the order of results: finding and counting a page reads no row
/// of `listings`. Every write updates `storefront_stats` and `category_counts`.
pub(super) const MIGRATIONS: Migrations =
    Migrations { service: "listings", first_table: "categories", steps: &STEPS };

const STEPS: [&str; 6] = [
    "
    CREATE TABLE categories (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        slug TEXT NOT NULL UNIQUE,
        parent_id INTEGER,
        sort_order INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE listings (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uuid TEXT NOT NULL,
        user_id INTEGER NOT NULL CHECK (user_id > 0),
        storefront_id INTEGER,
        title TEXT NOT NULL CHECK (length(title) >= 3),
        description TEXT,
        price_hundredths INTEGER NOT NULL CHECK (price_hundredths > 0),
        currency TEXT NOT NULL DEFAULT 'RSD',
        category_id INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'inactive', 'sold', 'archived')),
        visibility TEXT NOT NULL CHECK (visibility IN ('public', 'private', 'unlisted')),
        quantity INTEGER NOT NULL CHECK (quantity >= 0),
        sku TEXT,
        view_count INTEGER NOT NULL DEFAULT 0,
        favorites_count INTEGER NOT NULL DEFAULT 0,
        sold_count INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        published_at INTEGER,
        deleted_at INTEGER,
        translations TEXT,
        original_language TEXT NOT NULL
    ) STRICT;
    CREATE INDEX listings_of_storefront ON listings (storefront_id, id, status, category_id, price_hundredths)
        WHERE deleted_at IS NULL AND storefront_id IS NOT NULL;
    CREATE INDEX listings_of_user ON listings (user_id, id, status, category_id, price_hundredths)
        WHERE deleted_at IS NULL;
    CREATE INDEX listings_of_category ON listings (category_id, status, id, price_hundredths)
        WHERE deleted_at IS NULL;
    CREATE INDEX listings_of_sku ON listings (sku) WHERE deleted_at IS NULL AND sku IS NOT NULL;
    CREATE TABLE listing_images (
        listing_id INTEGER NOT NULL,
        display_order INTEGER NOT NULL,
        id INTEGER NOT NULL,
        url TEXT NOT NULL,
        is_primary INTEGER NOT NULL,
        PRIMARY KEY (listing_id, display_order)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE listing_words (
        word TEXT NOT NULL,
        listing_id INTEGER NOT NULL,
        category_id INTEGER NOT NULL,
        price_hundredths INTEGER NOT NULL,
        PRIMARY KEY (word, listing_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE listing_favorites (
        user_id INTEGER NOT NULL,
        listing_id INTEGER NOT NULL,
        marked_at INTEGER NOT NULL,
        PRIMARY KEY (user_id, listing_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX favorites_of_listing ON listing_favorites (listing_id, user_id);
    CREATE INDEX favorites_in_order ON listing_favorites (user_id, marked_at, listing_id);
    CREATE TABLE inventory_movements (
        id INTEGER PRIMARY KEY,
        listing_id INTEGER NOT NULL,
        movement_type TEXT NOT NULL,
        quantity INTEGER NOT NULL,
        stock_before INTEGER NOT NULL,
        stock_after INTEGER NOT NULL,
        reason TEXT,
        notes TEXT,
        user_id INTEGER NOT NULL,
        moved_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE stock_orders (
        order_id TEXT NOT NULL,
        listing_id INTEGER NOT NULL,
        quantity INTEGER NOT NULL,
        stock_before INTEGER NOT NULL,
        stock_after INTEGER NOT NULL,
        is_returned INTEGER NOT NULL,
        PRIMARY KEY (order_id, listing_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE storefront_stats (
        storefront_id INTEGER PRIMARY KEY,
        total INTEGER NOT NULL,
        active INTEGER NOT NULL,
        out_of_stock INTEGER NOT NULL,
        low_stock INTEGER NOT NULL,
        value_hundredths TEXT NOT NULL,
        sold INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE category_counts (
        category_id INTEGER NOT NULL,
        status TEXT NOT NULL,
        listings INTEGER NOT NULL,
        PRIMARY KEY (category_id, status)
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE INDEX listings_by_price ON listings (category_id, price_hundredths, id)
        WHERE deleted_at IS NULL AND status = 'active' AND visibility = 'public';
",
    "
    CREATE TABLE storefronts (
        storefront_id INTEGER PRIMARY KEY,
        user_id INTEGER NOT NULL
    ) STRICT;
    INSERT INTO storefronts SELECT storefront_id, user_id FROM listings
        WHERE id IN (SELECT min(id) FROM listings WHERE storefront_id IS NOT NULL GROUP BY storefront_id);
",
    "
    ALTER TABLE listings ADD COLUMN tags TEXT;
    ALTER TABLE categories ADD COLUMN icon TEXT;
    ALTER TABLE categories ADD COLUMN description TEXT;
    ALTER TABLE categories ADD COLUMN is_active INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE categories ADD COLUMN translations TEXT;
    ALTER TABLE categories ADD COLUMN custom_ui_component TEXT;
    DROP TABLE category_counts;
    CREATE TABLE category_counts (
        category_id INTEGER NOT NULL,
        status TEXT NOT NULL,
        visibility TEXT NOT NULL,
        listings INTEGER NOT NULL,
        PRIMARY KEY (category_id, status, visibility)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO category_counts SELECT category_id, status, visibility, count(*) FROM listings
        WHERE deleted_at IS NULL GROUP BY category_id, status, visibility;
    DROP INDEX listings_of_storefront;
    DROP INDEX listings_of_user;
    DROP INDEX listings_of_category;
    CREATE INDEX listings_of_storefront
        ON listings (storefront_id, id, status, category_id, price_hundredths, visibility)
        WHERE deleted_at IS NULL AND storefront_id IS NOT NULL;
    CREATE INDEX listings_of_user ON listings (user_id, id, status, category_id, price_hundredths, visibility)
        WHERE deleted_at IS NULL;
    CREATE INDEX listings_of_category ON listings (category_id, status, id, price_hundredths, visibility)
        WHERE deleted_at IS NULL;
",
    "
    CREATE INDEX listings_by_status ON listings (status, id) WHERE deleted_at IS NULL AND visibility = 'public';
",
    "
    CREATE TABLE listing_counters (
        listing_id INTEGER PRIMARY KEY,
        views INTEGER NOT NULL,
        favorites INTEGER NOT NULL
    ) STRICT;
",
];

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// A database of the version before, with listings of every visibility, one of them deleted.
    #[test]
    fn an_existing_database_is_counted_by_visibility() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&STEPS[..3].concat()).unwrap();
        let rows = [
            ("public", "NULL"),
            ("public", "NULL"),
            ("private", "NULL"),
            ("unlisted", "NULL"),
            ("public", "5"),
        ];
        for (visibility, deleted_at) in rows {
            let text = format!(
                "INSERT INTO listings (uuid, user_id, title, price_hundredths, category_id, status, visibility,
                    quantity, created_at, updated_at, deleted_at, original_language)
                 VALUES ('', 7, 'Bike', 1, 20, 'active', '{visibility}', 1, 0, 0, {deleted_at}, 'en')"
            );
            connection.execute_batch(&text).unwrap();
        }
        connection.execute_batch("INSERT INTO category_counts VALUES (20, 'active', 4)").unwrap();
        connection.execute_batch(STEPS[3]).unwrap();
        let mut statement = connection
            .prepare(
                "SELECT visibility, listings FROM category_counts WHERE category_id = 20 ORDER BY visibility",
            )
            .unwrap();
        let counts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let counts: Vec<(String, i64)> = counts.collect::<rusqlite::Result<_>>().unwrap();
        let expect = [("private", 1), ("public", 2), ("unlisted", 1)];
        assert_eq!(counts, expect.map(|(visibility, count)| (visibility.to_owned(), count)));
    }
}
