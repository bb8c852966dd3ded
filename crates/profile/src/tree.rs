//! The call tree: the cost of each function by call path. Flame graphs are drawn from it.

use std::collections::HashMap;

use crate::model::ValueType;
use crate::view::{Node, View};

/// Deeper frames are counted with the one at this depth, so that drawing a tree may recurse.
const MAX_DEPTH: u32 = 1_024;
/// When a tree has this many nodes, further ones are counted with their parents.
const MAX_NODES: usize = 1 << 20;

/// A function on one call path.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TreeNode {
    /// Index into [`CallTree::names`]; the root has none.
    pub name: Option<u32>,
    /// Its cost with the functions it calls.
    pub value: i64,
    /// Its own cost.
    pub own: i64,
    /// Indices into [`CallTree::nodes`], by value.
    pub children: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CallTree {
    pub sample_type: ValueType,
    /// Functions.
    pub names: Vec<String>,
    /// Nodes; the first is the root, which is not a function.
    pub nodes: Vec<TreeNode>,
    /// Whether frames were counted with their callers because the tree became too deep or too large.
    pub is_cut: bool,
}

impl CallTree {
    /// The tree of all stacks of a view.
    pub fn build(view: &View<'_>) -> CallTree {
        let mut builder = TreeBuilder { nodes: vec![TreeNode::of(None)], ..TreeBuilder::default() };
        for stack in view.stacks() {
            let mut at = 0;
            builder.add(at, stack.value);
            for (depth, frame) in (0..).zip(view.frames(&stack)) {
                let Some(child) = builder.child(at, frame, depth) else { break };
                at = child;
                builder.add(at, stack.value);
            }
            let own = &mut builder.nodes[at as usize].own;
            *own = own.saturating_add(stack.value);
        }
        builder.order();
        CallTree {
            sample_type: view.value_type().clone(),
            names: builder.used.iter().map(|node| view.name(*node).to_owned()).collect(),
            nodes: builder.nodes,
            is_cut: builder.is_cut,
        }
    }

    pub fn root(&self) -> &TreeNode {
        &self.nodes[0]
    }

    pub fn children<'t>(&'t self, node: &'t TreeNode) -> impl Iterator<Item = &'t TreeNode> {
        node.children.iter().filter_map(|child| self.nodes.get(*child as usize))
    }

    /// A node's function; `all` for the root.
    pub fn name(&self, node: &TreeNode) -> &str {
        node.name.and_then(|name| self.names.get(name as usize)).map_or("all", String::as_str)
    }
}

impl TreeNode {
    fn of(name: Option<u32>) -> TreeNode {
        TreeNode { name, value: 0, own: 0, children: Vec::new() }
    }
}

#[derive(Default)]
struct TreeBuilder {
    nodes: Vec<TreeNode>,
    children: HashMap<(u32, Node), u32>,
    names: HashMap<Node, u32>,
    used: Vec<Node>,
    is_cut: bool,
}

impl TreeBuilder {
    fn add(&mut self, node: u32, value: i64) {
        let sum = &mut self.nodes[node as usize].value;
        *sum = sum.saturating_add(value);
    }

    /// The child of `parent` for this function, created if there is none; none where the tree is cut.
    fn child(&mut self, parent: u32, frame: Node, depth: u32) -> Option<u32> {
        if let Some(&child) = self.children.get(&(parent, frame)) {
            return Some(child);
        }
        if depth >= MAX_DEPTH || self.nodes.len() >= MAX_NODES {
            self.is_cut = true;
            return None;
        }
        let next_name = u32::try_from(self.used.len()).unwrap_or(u32::MAX);
        let used = &mut self.used;
        let name = *self.names.entry(frame).or_insert_with(|| {
            used.push(frame);
            next_name
        });
        let child = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(TreeNode::of(Some(name)));
        self.nodes[parent as usize].children.push(child);
        self.children.insert((parent, frame), child);
        Some(child)
    }

    /// Sorts children by cost, the largest first; equal ones in the order of their stacks.
    fn order(&mut self) {
        let values: Vec<u64> = self.nodes.iter().map(|node| node.value.unsigned_abs()).collect();
        for node in &mut self.nodes {
            node.children.sort_by_key(|child| std::cmp::Reverse(values[*child as usize]));
        }
    }
}
