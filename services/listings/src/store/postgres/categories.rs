//! The categories that the database must have.

use tokio_postgres::{Client, Error};

use super::rows;
use super::statements::{CATEGORIES, NEW_GENERATION};
use crate::categories::{Category, CategoryInUse, RequiredCategories};

const IN_USE: &str =
    "SELECT DISTINCT category_id FROM category_counts WHERE listings > 0 ORDER BY category_id";
const INSERT: &str = "
    INSERT INTO categories (id, name, slug, parent_id, sort_order, icon, description, is_active, translations,
        custom_ui_component)
    SELECT id, name, slug, parent_id, sort_order, icon, description, is_active, translations::text, custom_ui_component
    FROM json_to_recordset($1::text::json) AS new (id bigint, name text, slug text, parent_id bigint,
        sort_order integer, icon text, description text, is_active boolean, translations json,
        custom_ui_component text)";

/// Replaces the stored categories, if others are required. Returns whether there were some, which replicas may have
/// cached; the generation of cached answers is then a new one. Replicas that start at once wait for each other.
pub(super) async fn require(
    client: &Client,
    required: &RequiredCategories,
) -> Result<Result<bool, CategoryInUse>, Error> {
    client.batch_execute("BEGIN; LOCK TABLE categories IN SHARE ROW EXCLUSIVE MODE").await?;
    let stored = rows::categories(&client.query(CATEGORIES, &[]).await?)?;
    let in_use = rows::ids(&client.query(IN_USE, &[]).await?)?;
    let replacement = match required.replacement(&stored, &in_use) {
        Ok(replacement) => replacement,
        Err(in_use) => {
            client.batch_execute("ROLLBACK").await?;
            return Ok(Err(in_use));
        }
    };
    let may_be_cached = replacement.is_some() && !stored.is_empty();
    if let Some(categories) = &replacement {
        replace(client, categories).await?;
    }
    if may_be_cached {
        client.batch_execute(NEW_GENERATION).await?;
    }
    client.batch_execute("COMMIT").await?;
    Ok(Ok(may_be_cached))
}

async fn replace(client: &Client, categories: &[Category]) -> Result<(), Error> {
    client.batch_execute("DELETE FROM categories").await?;
    let rows = serde_json::to_string(categories).unwrap_or_default();
    client.execute(INSERT, &[&rows]).await.map(drop)
}
