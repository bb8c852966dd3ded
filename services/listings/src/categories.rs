//! Categories: a tree that is part of the schema, and the number of active listings of each.

use serde::{Deserialize, Serialize};

/// A category as it is kept, with its number of active listings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// Its id.
    pub id: i64,
    /// For people.
    pub name: String,
    /// For addresses; unique.
    pub slug: String,
    /// The category that it lies in.
    pub parent_id: Option<i64>,
    /// Active listings of this very category.
    pub listings: i64,
    /// Its place among its siblings.
    pub sort_order: i32,
}

/// A category with what lies below it.
#[derive(Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// The category.
    pub category: &'a Category,
    /// How many lie above it.
    pub level: i32,
    /// The slugs from the root to it, with slashes between.
    pub path: String,
    /// What lies directly below, in order.
    pub children: Vec<Node<'a>>,
}

/// What a new database begins with: id, parent (0 for none), name.
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

/// The statement that makes the built-in categories; both stores take it.
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

/// How many categories lie above one. A parent that is not there, or a circle, ends the way up.
#[must_use]
pub fn level(all: &[Category], category: &Category) -> i32 {
    i32::try_from(ancestors(all, category).len()).unwrap_or(i32::MAX)
}

fn ancestors<'a>(all: &'a [Category], category: &'a Category) -> Vec<&'a Category> {
    let mut above: Vec<&Category> = Vec::new();
    let mut at = category;
    while let Some(parent) = at.parent_id.and_then(|id| find(all, id)) {
        if parent.id == category.id || above.len() > all.len() {
            break;
        }
        above.push(parent);
        at = parent;
    }
    above
}

/// The category of an id.
#[must_use]
pub fn find(all: &[Category], id: i64) -> Option<&Category> {
    all.iter().find(|category| category.id == id)
}

/// The category of an id with everything below it.
#[must_use]
pub fn tree(all: &[Category], id: i64) -> Option<Node<'_>> {
    let category = find(all, id)?;
    let above = ancestors(all, category);
    let slugs = above.iter().rev().map(|above| above.slug.as_str());
    let path = slugs.chain([category.slug.as_str()]).collect::<Vec<_>>().join("/");
    Some(node(all, category, (level(all, category), path, all.len())))
}

/// `depth` bounds circles, which a hand may have written into the database.
fn node<'a>(
    all: &'a [Category],
    category: &'a Category,
    (level, path, depth): (i32, String, usize),
) -> Node<'a> {
    let mut below: Vec<&Category> = all.iter().filter(|other| other.parent_id == Some(category.id)).collect();
    below.sort_by_key(|category| (category.sort_order, category.id));
    let below = if depth == 0 { Vec::new() } else { below };
    let child = |child: &'a Category| {
        let path = format!("{path}/{}", child.slug);
        node(all, child, (level + 1, path, depth - 1))
    };
    let children = below.into_iter().map(child).collect();
    Node { category, level, path, children }
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
    fn a_tree_holds_what_lies_below_in_order() {
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
    fn a_circle_ends() {
        let mut all = vec![category(1, 2), category(2, 1)];
        assert!(tree(&all, 1).is_some());
        assert!(level(&all, &all[0]) < 3);
        all[1].parent_id = Some(2);
        assert!(tree(&all, 1).is_some());
    }
}
