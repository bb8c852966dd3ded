//! Categories: a tree that is part of the schema, and the number of active listings of each.

use serde::{Deserialize, Serialize};

/// A category with its number of active listings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its name in URLs; unique.
    pub slug: String,
    /// Its parent.
    pub parent_id: Option<i64>,
    /// Active listings of this category alone.
    pub listings: i64,
    /// Its position among its siblings.
    pub sort_order: i32,
}

/// A category with its descendants.
#[derive(Debug, PartialEq, Eq)]
pub struct CategoryNode<'a> {
    /// The category.
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

/// The statement that inserts the built-in categories; both stores accept it.
#[must_use]
pub fn insert_built_in() -> String {
    let row = |(id, parent, name): &(i64, i64, &str)| {
        let slug = name.to_lowercase().replace(' ', "-");
        let parent = if *parent == 0 { "NULL".to_owned() } else { parent.to_string() };
        format!("({id}, '{name}', '{slug}', {parent}, {id})")
    };
    let rows: Vec<String> = BUILT_IN.iter().map(row).collect();
    format!("INSERT INTO categories (id, name, slug, parent_id, sort_order) VALUES {}", rows.join(", "))
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

/// The category with this id.
#[must_use]
pub fn find(all: &[Category], id: i64) -> Option<&Category> {
    all.iter().find(|category| category.id == id)
}

/// The category with this id and its descendants.
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
        all.iter().filter(|other| other.parent_id == Some(category.id)).collect();
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
        Category {
            id,
            name: format!("N{id}"),
            slug: format!("s{id}"),
            parent_id: (parent != 0).then_some(parent),
            listings: 0,
            sort_order: 0,
        }
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
    fn a_cycle_ends() {
        let mut all = vec![category(1, 2), category(2, 1)];
        assert!(tree(&all, 1).is_some());
        assert!(level(&all, &all[0]) < 3);
        all[1].parent_id = Some(2);
        assert!(tree(&all, 1).is_some());
    }
}
