//! The categories that the database must have.

use kit::sqlite::OpenError;
use rusqlite::{Connection, Result, Transaction, TransactionBehavior, params};

use super::rows;
use crate::categories::{Category, RequiredCategories};
use crate::store::StoreOpenError;

/// Replaces the stored categories, if others are required. There is no other writer.
pub(super) fn require(connection: &Connection, required: &RequiredCategories) -> Result<(), StoreOpenError> {
    let stored = rows::categories(connection).map_err(OpenError::from)?;
    let in_use = in_use(connection).map_err(OpenError::from)?;
    if let Some(categories) = required.replacement(&stored, &in_use)? {
        replace(connection, &categories).map_err(OpenError::from)?;
    }
    Ok(())
}

fn in_use(connection: &Connection) -> Result<Vec<i64>> {
    let text = "SELECT DISTINCT category_id FROM category_counts WHERE listings > 0 ORDER BY category_id";
    connection.prepare(text)?.query_map([], |row| row.get(0))?.collect()
}

fn replace(connection: &Connection, categories: &[Category]) -> Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    connection.execute("DELETE FROM categories", [])?;
    let mut insert = connection.prepare(
        "INSERT INTO categories (id, name, slug, parent_id, sort_order, icon, description, is_active, translations,
            custom_ui_component) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for category in categories {
        insert.execute(params![
            category.id,
            category.name,
            category.slug,
            category.parent_id,
            category.sort_order,
            category.icon,
            category.description,
            category.is_active,
            serde_json::to_string(&category.translations).unwrap_or_default(),
            category.custom_ui_component,
        ])?;
    }
    transaction.commit()
}
