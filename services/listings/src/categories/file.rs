//! Categories from a file, in TOML. The keys are those of the interface's message; all but id and name may be left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::{Category, find, slug_of};

/// Bounds what every answer with all categories costs.
const MAX_CATEGORIES: usize = 5_000;
const MAX_NAME_CHARS: usize = 100;
const MAX_TEXT_CHARS: usize = 1_000;

/// Why the categories of a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("CATEGORIES_FILE={path}: {why}")]
pub struct CategoriesError {
    path: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    categories: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: i64,
    name: String,
    slug: Option<String>,
    parent_id: Option<i64>,
    sort_order: Option<i32>,
    icon: Option<String>,
    description: Option<String>,
    is_active: Option<bool>,
    #[serde(default)]
    translations: BTreeMap<String, String>,
    custom_ui_component: Option<String>,
}

/// The categories in this file.
///
/// # Errors
/// When it cannot be read, or its categories are not tree.
pub fn read(path: &Path) -> Result<Vec<Category>, CategoriesError> {
    let error = |why| CategoriesError { path: path.display().to_string(), why };
    let text = std::fs::read_to_string(path).map_err(|cause| error(cause.to_string()))?;
    parse(&text).map_err(error)
}

fn parse(text: &str) -> Result<Vec<Category>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.categories.is_empty() || file.categories.len() > MAX_CATEGORIES {
        return Err(format!("there must be 1 to {MAX_CATEGORIES} categories"));
    }
    let all = (1..).zip(file.categories).map(|(position, entry)| category(position, entry));
    let all: Vec<Category> = all.collect::<Result<_, _>>()?;
    check_tree(&all)?;
    Ok(all)
}

/// Without a sort order, categories are in the order of the file.
fn category(position: i32, entry: Entry) -> Result<Category, String> {
    let place = format!("category {} ({})", entry.id, entry.name);
    let refused = |why: &str| Err(format!("{place}: {why}"));
    if entry.id <= 0 {
        return refused("id must be above 0");
    }
    let slug = entry.slug.unwrap_or_else(|| slug_of(&entry.name));
    let is_slug = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c == '-' || c == '_' || (c.is_alphanumeric() && !c.is_uppercase()))
    };
    if !is_slug(&slug) {
        return refused("slug must be of small letters, digits and hyphens");
    }
    let names = entry.translations.iter().flat_map(|(tag, name)| [tag, name]).chain([&entry.name, &slug]);
    for text in names {
        if text.trim().is_empty() || text.chars().count() > MAX_NAME_CHARS || text.contains('\0') {
            return refused("name, slug and translations must have 1 to 100 characters");
        }
    }
    let texts = [&entry.icon, &entry.description, &entry.custom_ui_component];
    if texts.into_iter().flatten().any(|text| text.chars().count() > MAX_TEXT_CHARS || text.contains('\0')) {
        return refused("icon, description and custom_ui_component must have at most 1,000 characters");
    }
    Ok(Category {
        id: entry.id,
        name: entry.name,
        slug,
        parent_id: entry.parent_id,
        listings: 0,
        sort_order: entry.sort_order.unwrap_or(position),
        icon: entry.icon,
        description: entry.description,
        is_active: entry.is_active.unwrap_or(true),
        translations: entry.translations,
        custom_ui_component: entry.custom_ui_component.filter(|component| !component.is_empty()),
    })
}

/// Ids and slugs are unique, every parent exists, and no category is its own ancestor.
fn check_tree(all: &[Category]) -> Result<(), String> {
    let (mut ids, mut slugs) = (BTreeSet::new(), BTreeSet::new());
    for Category { id, slug, .. } in all {
        if !ids.insert(*id) {
            return Err(format!("two categories have the id {id}"));
        }
        if !slugs.insert(slug) {
            return Err(format!("two categories have the slug {slug}"));
        }
    }
    let parents: BTreeMap<i64, i64> =
        all.iter().filter_map(|category| Some((category.id, category.parent_id?))).collect();
    for (id, parent) in &parents {
        if find(all, *parent).is_none() {
            return Err(format!("category {id}: no category has the id {parent} of its parent"));
        }
        let (mut ancestor, mut steps) = (*parent, 0);
        while let Some(next) = parents.get(&ancestor) {
            if ancestor == *id || steps > all.len() {
                return Err(format!("category {id} is its own ancestor"));
            }
            (ancestor, steps) = (*next, steps + 1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::categories::tree;

    #[test]
    fn all_keys_but_id_and_name_have_defaults() {
        let text = "
            [[categories]]
            id = 7
            name = \"Home & garden\"
            [[categories]]
            id = 9
            name = \"Tools\"
            slug = \"alati\"
            parent_id = 7
            sort_order = 1
            icon = \"hammer\"
            is_active = false
            translations = { sr = \"Alati\" }
            custom_ui_component = \"ToolPicker\"
        ";
        let all = parse(text).unwrap();
        let Category { slug, sort_order, is_active, .. } = &all[0];
        assert_eq!((slug.as_str(), *sort_order, *is_active), ("home-garden", 1, true));
        let Category { slug, parent_id, is_active, translations, .. } = &all[1];
        assert_eq!((slug.as_str(), *parent_id, *is_active), ("alati", Some(7), false));
        assert_eq!(translations["sr"], "Alati");
    }

    #[test]
    fn categories_that_are_no_tree_are_refused_with_the_reason() {
        let of = |entries: &str| parse(&format!("categories = [{entries}]")).unwrap_err();
        for (entries, why) in [
            ("", "there must be 1 to 5000 categories"),
            ("{ id = 0, name = \"A\" }", "category 0 (A): id must be above 0"),
            ("{ id = 1, name = \" \" }", "slug must be of small letters"),
            ("{ id = 1, name = \"A\", slug = \"A b\" }", "slug must be of small letters"),
            ("{ id = 1, name = \"A\", parent_id = 2 }", "no category has the id 2"),
            ("{ id = 1, name = \"A\", parent_id = 1 }", "its own ancestor"),
            ("{ id = 1, name = \"A\" }, { id = 1, name = \"B\" }", "two categories have the id 1"),
            ("{ id = 1, name = \"A\" }, { id = 2, name = \"a\" }", "two categories have the slug a"),
            (
                "{ id = 1, name = \"A\", parent_id = 2 }, { id = 2, name = \"B\", parent_id = 1 }",
                "its own ancestor",
            ),
            ("{ id = 1, name = \"A\", color = \"red\" }", "color"),
        ] {
            let error = of(entries);
            assert!(error.contains(why), "{entries}: {error}");
        }
        let error = read(Path::new("/nowhere/categories.toml")).unwrap_err().to_string();
        assert!(error.starts_with("CATEGORIES_FILE=/nowhere/categories.toml: "), "{error}");
    }

    proptest! {
        /// Parents in any order, also missing ones and cycles: what is accepted is a forest with every category in it.
        #[test]
        fn what_is_accepted_is_a_forest(parents in prop::collection::vec(0..12_i64, 1..10)) {
            let entry = |(id, parent): (usize, &i64)| match parent {
                0 => format!("{{ id = {id}, name = \"N{id}\" }}"),
                parent => format!("{{ id = {id}, name = \"N{id}\", parent_id = {parent} }}"),
            };
            let entries: Vec<String> = (1..).zip(&parents).map(entry).collect();
            let leads_to_root = |start: usize| {
                let (mut at, mut steps) = (start, 0);
                while steps <= parents.len() {
                    match parents.get(at - 1) {
                        None => return false,
                        Some(0) => return true,
                        Some(parent) => (at, steps) = (usize::try_from(*parent).unwrap(), steps + 1),
                    }
                }
                false
            };
            let is_forest = (1..=parents.len()).all(leads_to_root);
            let parsed = parse(&format!("categories = [{}]", entries.join(", ")));
            prop_assert_eq!(parsed.is_ok(), is_forest, "{:?} {:?}", parents, parsed);
            if let Ok(all) = parsed {
                fn size(node: &crate::categories::CategoryNode<'_>) -> usize {
                    1 + node.children.iter().map(size).sum::<usize>()
                }
                let roots = all.iter().filter(|category| category.parent_id.is_none());
                prop_assert_eq!(roots.map(|root| size(&tree(&all, root.id).unwrap())).sum::<usize>(), all.len());
            }
        }
    }
}
