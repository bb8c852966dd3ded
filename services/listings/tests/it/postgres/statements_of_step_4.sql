-- The statements of a program that knows the first four steps of the schema, as it sends them: it reads and locks
-- listing 1, rewrites its row with seven views and a favourite of user 8, and creates listing 2.
PREPARE load AS
    SELECT id, uuid::text, user_id, storefront_id, title, description, price_hundredths, currency, category_id, status,
        visibility, quantity, sku, view_count, favorites_count, sold_count, created_at, updated_at, published_at,
        translations, original_language, tags
    FROM listings WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE;
PREPARE insert_listings AS
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
        quantity, sku, views, favorites, sold, created_at, updated_at, published_at, deleted_at, translations, language,
        tags);
PREPARE update_listings AS
    UPDATE listings AS row SET title = new.title, description = new.description, price_hundredths = new.price,
        status = new.status, quantity = new.quantity, view_count = new.views, favorites_count = new.favorites,
        sold_count = new.sold, updated_at = new.updated_at, published_at = new.published_at,
        deleted_at = new.deleted_at, visibility = new.visibility, tags = new.tags
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::int[], $8::int[],
        $9::int[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[])
        AS new (id, title, description, price, status, quantity, views, favorites, sold, updated_at, published_at,
        deleted_at, visibility, tags)
    WHERE row.id = new.id;
PREPARE insert_words AS
    INSERT INTO listing_words (word, listing_id, category_id, price_hundredths)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]);
PREPARE add_favorites AS
    INSERT INTO listing_favorites (user_id, listing_id, marked_at)
    SELECT user_id, listing_id, greatest($3, (SELECT max(marked_at) + interval '1 ms' FROM listing_favorites AS stored
                                              WHERE stored.user_id = new.user_id))
    FROM unnest($1::bigint[], $2::bigint[]) AS new (user_id, listing_id);
PREPARE movements AS
    INSERT INTO inventory_movements (listing_id, movement_type, quantity, stock_before, stock_after, reason, notes,
        user_id, moved_at)
    SELECT listing_id, kind, quantity, before, after, reason, notes, user_id, $9
    FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::bigint[])
        AS new (listing_id, kind, quantity, before, after, reason, notes, user_id);
PREPARE save_orders AS
    INSERT INTO stock_orders (order_id, listing_id, quantity, stock_before, stock_after, is_returned)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::bool[])
    ON CONFLICT (order_id, listing_id) DO UPDATE SET is_returned = excluded.is_returned;
PREPARE update_stats AS
    INSERT INTO storefront_stats AS kept (storefront_id, total, active, out_of_stock, low_stock, value_hundredths, sold)
    SELECT id, total, active, out, low, value::numeric, sold
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[])
        AS new (id, total, active, out, low, value, sold)
    ORDER BY id
    ON CONFLICT (storefront_id) DO UPDATE SET total = kept.total + excluded.total,
        active = kept.active + excluded.active, out_of_stock = kept.out_of_stock + excluded.out_of_stock,
        low_stock = kept.low_stock + excluded.low_stock,
        value_hundredths = kept.value_hundredths + excluded.value_hundredths, sold = kept.sold + excluded.sold;
PREPARE update_counts AS
    INSERT INTO category_counts AS kept (category_id, status, visibility, listings)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
        AS new (category_id, status, visibility, listings)
    ORDER BY category_id, status, visibility
    ON CONFLICT (category_id, status, visibility) DO UPDATE SET listings = kept.listings + excluded.listings;

BEGIN;
INSERT INTO commit_markers DEFAULT VALUES;
UPDATE commit_markers SET last_group = 1 WHERE id = 1 RETURNING id;
EXECUTE load ('{1}');
EXECUTE insert_listings ('{2}', ARRAY[gen_random_uuid()::text], '{7}', '{3}', '{Old lamp}', '{NULL}', '{500}', '{RSD}',
    '{20}', '{active}', '{public}', '{1}', '{NULL}', '{0}', '{0}', '{0}', ARRAY[now()], ARRAY[now()], ARRAY[now()],
    ARRAY[NULL]::timestamptz[], '{NULL}', '{en}', '{NULL}');
EXECUTE update_listings ('{1}', '{Green bike}', '{NULL}', '{1999}', '{active}', '{9}', '{7}', '{1}', '{1}',
    ARRAY[now()], ARRAY[now()], ARRAY[NULL]::timestamptz[], '{public}', '{NULL}');
EXECUTE insert_words ('{old,lamp}', '{2,2}', '{20,20}', '{500,500}');
EXECUTE add_favorites ('{8}', '{1}', now());
EXECUTE movements ('{1}', '{out}', '{1}', '{10}', '{9}', '{order}', '{o-1}', '{0}', now());
EXECUTE save_orders ('{o-1}', '{1}', '{1}', '{10}', '{9}', '{f}');
EXECUTE update_stats ('{3}', '{1}', '{1}', '{0}', '{1}', '{500}', '{1}');
EXECUTE update_counts ('{20}', '{active}', '{public}', '{1}');
UPDATE cache_generation SET generation = generation + 1;
COMMIT;
