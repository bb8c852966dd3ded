//! The nodes of a document, in the order in which the parser made them.

use html5ever::{LocalName, QualName, local_name, ns};

/// One node of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The document itself.
    pub(crate) const ROOT: NodeId = NodeId(0);

    pub(crate) fn as_number(self) -> u32 {
        self.0
    }
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum Content {
    Document,
    Doctype { name: String, public_id: String, system_id: String },
    Text(String),
    Comment(String),
    Element(Element),
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(super) name: QualName,
    pub(crate) attributes: Vec<Attribute>,
}

#[derive(Debug)]
pub(crate) struct Attribute {
    /// Such as `xlink`; mostly empty.
    pub(crate) prefix: String,
    pub(crate) name: LocalName,
    pub(crate) value: String,
}

/// To which language an element belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    Html,
    Svg,
    MathMl,
}

impl Element {
    pub(crate) fn name(&self) -> &str {
        &self.name.local
    }

    pub(crate) fn namespace(&self) -> Namespace {
        match self.name.ns {
            ns!(svg) => Namespace::Svg,
            ns!(mathml) => Namespace::MathMl,
            _ => Namespace::Html,
        }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|attribute| &*attribute.name == name);
        found.map(|attribute| attribute.value.as_str())
    }

    /// Whether HTML may be within this element of another language.
    pub(super) fn is_html_integration_point(&self) -> bool {
        match self.namespace() {
            Namespace::Html => false,
            Namespace::Svg => matches!(self.name(), "desc" | "foreignObject" | "title"),
            Namespace::MathMl => {
                let encoding = self.attribute("encoding").unwrap_or_default();
                self.name.local == local_name!("annotation-xml")
                    && ["text/html", "application/xhtml+xml"]
                        .iter()
                        .any(|html| encoding.eq_ignore_ascii_case(html))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    /// How many elements it is within.
    pub(super) depth: u32,
    parent: Option<NodeId>,
    previous: Option<NodeId>,
    next: Option<NodeId>,
    first_child: Option<NodeId>,
    last_child: Option<NodeId>,
}

/// A document.
#[derive(Debug)]
pub(crate) struct Document {
    nodes: Vec<Node>,
}

impl Document {
    /// Without a node but the document itself.
    pub(super) fn empty() -> Document {
        let mut document = Document { nodes: Vec::new() };
        document.add(Content::Document);
        document
    }

    /// The node of this number; none where there is none.
    pub(crate) fn node_id(&self, number: u32) -> Option<NodeId> {
        ((number as usize) < self.nodes.len()).then_some(NodeId(number))
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    pub(crate) fn content(&self, id: NodeId) -> &Content {
        &self.node(id).content
    }

    pub(crate) fn element(&self, id: NodeId) -> Option<&Element> {
        match self.content(id) {
            Content::Element(element) => Some(element),
            _ => None,
        }
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).parent
    }

    pub(crate) fn previous(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).previous
    }

    pub(crate) fn next(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).next
    }

    pub(crate) fn first_child(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).first_child
    }

    pub(crate) fn last_child(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).last_child
    }

    pub(super) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.first_child(id), |child| self.next(*child))
    }

    /// From its parent to the document.
    pub(super) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.parent(id), |node| self.parent(*node))
    }

    /// From the one before it to the first.
    pub(super) fn earlier_siblings(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.previous(id), |node| self.previous(*node))
    }

    /// From the one after it to the last.
    pub(super) fn later_siblings(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.next(id), |node| self.next(*node))
    }

    /// All nodes within it, in the order of the text.
    pub(super) fn descendants(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.first_child(id), move |node| {
            self.first_child(*node).or_else(|| self.after(*node, id))
        })
    }

    /// What follows a node and all that is within it, as long as that is within `whole`.
    pub(super) fn after(&self, node: NodeId, whole: NodeId) -> Option<NodeId> {
        let mut last = node;
        while last != whole {
            if let Some(next) = self.next(last) {
                return Some(next);
            }
            last = self.parent(last)?;
        }
        None
    }

    /// A node that is nowhere yet.
    pub(super) fn add(&mut self, content: Content) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("a document in memory has fewer nodes"));
        let [parent, previous, next, first_child, last_child] = [None; 5];
        self.nodes.push(Node { content, depth: 0, parent, previous, next, first_child, last_child });
        id
    }

    /// Make a node, which is nowhere, the last child.
    pub(super) fn append(&mut self, parent: NodeId, child: NodeId) {
        let last = self.node(parent).last_child;
        self.place(child, parent, last, None);
    }

    /// Put a node, which is nowhere, before another one, which is somewhere.
    pub(super) fn insert_before(&mut self, sibling: NodeId, child: NodeId) {
        if let Some(parent) = self.parent(sibling) {
            let previous = self.previous(sibling);
            self.place(child, parent, previous, Some(sibling));
        }
    }

    fn place(&mut self, child: NodeId, parent: NodeId, previous: Option<NodeId>, next: Option<NodeId>) {
        let depth = self.node(parent).depth + 1;
        let node = self.node_mut(child);
        (node.parent, node.previous, node.next, node.depth) = (Some(parent), previous, next, depth);
        match previous {
            Some(previous) => self.node_mut(previous).next = Some(child),
            None => self.node_mut(parent).first_child = Some(child),
        }
        match next {
            Some(next) => self.node_mut(next).previous = Some(child),
            None => self.node_mut(parent).last_child = Some(child),
        }
    }

    /// Take a node out of where it is.
    pub(super) fn detach(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        let (parent, previous, next) = (node.parent.take(), node.previous.take(), node.next.take());
        let Some(parent) = parent else { return };
        match previous {
            Some(previous) => self.node_mut(previous).next = next,
            None => self.node_mut(parent).first_child = next,
        }
        match next {
            Some(next) => self.node_mut(next).previous = previous,
            None => self.node_mut(parent).last_child = previous,
        }
    }
}
