//! Categories: a tree, built in or from a file, and the number of active public listings of each.

mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::{CategoriesError, read};

/// A category with its number of active public listings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    pub id: i64,
    pub name: String,
    /// Its name in URLs; unique.
    pub slug: String,
    pub parent_id: Option<i64>,
    /// Active public listings of this category alone.
    pub listings: i64,
    /// Its position among its siblings.
    pub sort_order: i32,
    /// The name of a picture.
    pub icon: Option<String>,
    /// What belongs into it.
    pub description: Option<String>,
    /// Whether it takes new listings and is shown among the roots, the popular ones, and in trees.
    pub is_active: bool,
    /// Its name by language.
    pub translations: BTreeMap<String, String>,
    /// The component that shows it, where clients have one of their own for it.
    pub custom_ui_component: Option<String>,
}

impl Category {
    /// Its approximate size in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let optional = [&self.icon, &self.description, &self.custom_ui_component];
        let texts: usize = optional.into_iter().flatten().map(String::len).sum();
        let translations: usize =
            self.translations.iter().map(|(tag, name)| 64 + tag.len() + name.len()).sum();
        256 + self.name.len() + self.slug.len() + texts + translations
    }
}

/// A category with its descendants.
#[derive(Debug, PartialEq, Eq)]
pub struct CategoryNode<'a> {
    pub category: &'a Category,
    /// The number of its ancestors.
    pub level: i32,
    /// The slugs from the root to it, separated by slashes.
    pub path: String,
    /// Its children, in order.
    pub children: Vec<CategoryNode<'a>>,
}

/// The categories of a new database: id, parent (0 for none), name.
const BUILT_IN: [(i64, i64, &str); 26] = [
    (1, 0, "Electronics"),
    (2, 0, "Home and garden"),
    (3, 0, "Vehicles"),
    (4, 0, "Clothing"),
    (5, 0, "Sport"),
    (6, 0, "Books and music"),
    (7, 1, "Phones"),
    (8, 1, "Computers"),
    (9, 1, "Cameras"),
    (10, 1, "Audio"),
    (11, 2, "Furniture"),
    (12, 2, "Kitchen"),
    (13, 2, "Tools"),
    (14, 3, "Cars"),
    (15, 3, "Motorcycles"),
    (16, 3, "Parts"),
    (17, 4, "Women"),
    (18, 4, "Men"),
    (19, 4, "Children"),
    (20, 5, "Bicycles"),
    (21, 5, "Winter sports"),
    (22, 5, "Camping"),
    (23, 6, "Novels"),
    (24, 6, "Instruments"),
    (25, 8, "Laptops"),
    (26, 8, "Components"),
];

/// The categories of a new database.
#[must_use]
pub fn built_in() -> Vec<Category> {
    let category = |(id, parent, name): &(i64, i64, &str)| Category {
        id: *id,
        name: (*name).to_owned(),
        slug: slug_of(name),
        parent_id: (*parent != 0).then_some(*parent),
        listings: 0,
        sort_order: i32::try_from(*id).unwrap_or(i32::MAX),
        icon: None,
        description: None,
        is_active: true,
        translations: BTreeMap::new(),
        custom_ui_component: None,
    };
    BUILT_IN.iter().map(category).collect()
}

/// A name in lower case, with hyphens for everything that is neither a letter nor a digit.
fn slug_of(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// Which categories a store must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredCategories {
    /// Those that it has; a new store has the built-in ones.
    Stored,
    /// These and no others.
    These(Vec<Category>),
}

/// A category has listings and is not among those that the store must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "CATEGORIES_FILE leaves out category {0}, which has listings; keep it there, with `is_active = false` so that it \
     takes no more"
)]
pub struct CategoryInUse(pub i64);

impl RequiredCategories {
    /// The categories that replace the stored ones; `None` when those stay. `in_use` are the ids of categories that have
    /// listings.
    ///
    /// # Errors
    /// When one of those would be missing.
    pub fn replacement(
        &self,
        stored: &[Category],
        in_use: &[i64],
    ) -> Result<Option<Vec<Category>>, CategoryInUse> {
        let required = match self {
            Self::Stored if stored.is_empty() => built_in(),
            Self::Stored => return Ok(None),
            Self::These(required) => required.clone(),
        };
        if let Some(id) = in_use.iter().find(|id| find(&required, **id).is_none()) {
            return Err(CategoryInUse(*id));
        }
        let is_same = |category: &Category| {
            let same = find(&required, category.id);
            same.is_some_and(|same| Category { listings: category.listings, ..same.clone() } == *category)
        };
        Ok((stored.len() != required.len() || !stored.iter().all(is_same)).then_some(required))
    }
}

/// The number of a category's ancestors. A missing parent or a cycle ends the walk.
#[must_use]
pub fn level(all: &[Category], category: &Category) -> i32 {
    i32::try_from(ancestors(all, category).len()).unwrap_or(i32::MAX)
}

fn ancestors<'a>(all: &'a [Category], category: &'a Category) -> Vec<&'a Category> {
    let mut ancestors: Vec<&Category> = Vec::new();
    let mut current = category;
    while let Some(parent) = current.parent_id.and_then(|id| find(all, id)) {
        if parent.id == category.id || ancestors.len() > all.len() {
            break;
        }
        ancestors.push(parent);
        current = parent;
    }
    ancestors
}

#[must_use]
pub fn find(all: &[Category], id: i64) -> Option<&Category> {
    all.iter().find(|category| category.id == id)
}

/// The category with this id and its active descendants.
#[must_use]
pub fn tree(all: &[Category], id: i64) -> Option<CategoryNode<'_>> {
    let category = find(all, id)?;
    let ancestors = ancestors(all, category);
    let slugs = ancestors.iter().rev().map(|ancestor| ancestor.slug.as_str());
    let path = slugs.chain([category.slug.as_str()]).collect::<Vec<_>>().join("/");
    let position = TreePosition { level: level(all, category), path, depth_left: all.len() };
    Some(node(all, category, position))
}

/// Where a node is in its tree.
struct TreePosition {
    level: i32,
    path: String,
    /// Levels that may follow; it bounds cycles, which the database does not exclude.
    depth_left: usize,
}

fn node<'a>(all: &'a [Category], category: &'a Category, position: TreePosition) -> CategoryNode<'a> {
    let TreePosition { level, path, depth_left } = position;
    let mut children: Vec<&Category> =
        all.iter().filter(|other| other.is_active && other.parent_id == Some(category.id)).collect();
    children.sort_by_key(|category| (category.sort_order, category.id));
    let children = if depth_left == 0 { Vec::new() } else { children };
    let child = |child: &'a Category| {
        let path = format!("{path}/{}", child.slug);
        node(all, child, TreePosition { level: level + 1, path, depth_left: depth_left - 1 })
    };
    let children = children.into_iter().map(child).collect();
    CategoryNode { category, level, path, children }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(id: i64, parent: i64) -> Category {
        let parent_id = (parent != 0).then_some(parent);
        let [name, slug] = [format!("N{id}"), format!("s{id}")];
        Category { id, name, slug, parent_id, sort_order: 0, ..built_in().remove(0) }
    }

    #[test]
    fn a_tree_contains_the_descendants_in_order() {
        let all = [category(1, 0), category(4, 2), category(2, 1), category(3, 1)];
        let tree = tree(&all, 1).unwrap();
        let ids: Vec<i64> = tree.children.iter().map(|child| child.category.id).collect();
        assert_eq!((ids, tree.level), (vec![2, 3], 0));
        assert_eq!(tree.children[0].children[0].path, "s1/s2/s4");
        assert_eq!(super::tree(&all, 4).unwrap().path, "s1/s2/s4");
        assert_eq!(level(&all, &all[1]), 2);
        assert!(super::tree(&all, 9).is_none());
    }

    #[test]
    fn inactive_categories_are_not_in_a_tree() {
        let inactive = Category { is_active: false, ..category(2, 1) };
        let all = [category(1, 0), inactive, category(3, 1), category(4, 2)];
        let tree = tree(&all, 1).unwrap();
        assert_eq!(tree.children.iter().map(|child| child.category.id).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn stored_categories_are_replaced_by_others_unless_one_that_has_listings_would_be_missing() {
        let these = |all: &[Category]| RequiredCategories::These(all.to_vec());
        let [first, second] = [category(1, 0), category(2, 0)];
        let counted = [Category { listings: 5, ..first.clone() }];
        assert_eq!(RequiredCategories::Stored.replacement(&[], &[]), Ok(Some(built_in())));
        assert_eq!(RequiredCategories::Stored.replacement(&counted, &[1]), Ok(None));
        assert_eq!(these(std::slice::from_ref(&first)).replacement(&counted, &[1]), Ok(None));
        let both = vec![first.clone(), second.clone()];
        assert_eq!(these(&both).replacement(&counted, &[1]), Ok(Some(both)));
        let renamed = vec![Category { name: "Other".to_owned(), ..first }];
        assert_eq!(these(&renamed).replacement(&counted, &[1]), Ok(Some(renamed)));
        assert_eq!(these(&[second]).replacement(&counted, &[1]), Err(CategoryInUse(1)));
    }

    #[test]
    fn a_cycle_ends() {
        let mut all = vec![category(1, 2), category(2, 1)];
        assert!(tree(&all, 1).is_some());
        assert!(level(&all, &all[0]) < 3);
        all[1].parent_id = Some(2);
        assert!(tree(&all, 1).is_some());
    }
}
