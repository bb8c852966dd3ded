//! From text to a document, by html5ever.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{LocalName, Namespace, ParseOpts, QualName, ns, parse_document};

use super::tree::{Attribute, Content, Document, Element, Node, NodeId};

/// How deep elements are nested, as in k6. Without a limit, a short text could make any number of elements.
const DEEPEST: u32 = 512;
/// So many bytes are parsed before what they have made is counted.
const CHUNK_BYTES: usize = 256;

/// Elements whose attributes are in the order of their names, as in k6.
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Why a text is not made a document.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("html: open stack of elements exceeds {DEEPEST} nodes")]
    TooDeep,
    /// That the memory may not grow.
    #[error("no memory is left for the HTML document")]
    NoMemory,
}

/// The document that a text is. `may_grow` is asked before so many more bytes of memory are kept.
///
/// # Errors
/// [`ParseError`]
pub(crate) fn parse(text: &str, may_grow: &mut dyn FnMut(usize) -> bool) -> Result<Document, ParseError> {
    let mut parser = parse_document(Growing::default(), ParseOpts::default());
    let mut rest = text;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES.min(rest.len())));
        parser.process(StrTendril::from_slice(chunk));
        parser.tokenizer.sink.sink.settle(may_grow)?;
        rest = after;
    }
    let grown = parser.finish();
    grown.settle(may_grow)?;
    Ok(grown.document.into_inner())
}

/// A document that the parser makes.
struct Growing {
    document: RefCell<Document>,
    /// What was made since it was counted.
    uncounted: Cell<usize>,
    is_too_deep: Cell<bool>,
}

impl Default for Growing {
    fn default() -> Growing {
        let document = RefCell::new(Document::empty());
        Growing { document, uncounted: Cell::new(0), is_too_deep: Cell::new(false) }
    }
}

impl Growing {
    fn settle(&self, may_grow: &mut dyn FnMut(usize) -> bool) -> Result<(), ParseError> {
        match self.is_too_deep.get() {
            true => Err(ParseError::TooDeep),
            false if may_grow(self.uncounted.take()) => Ok(()),
            false => Err(ParseError::NoMemory),
        }
    }

    fn count(&self, bytes: usize) {
        self.uncounted.set(self.uncounted.get() + bytes);
    }

    fn add(&self, content: Content) -> NodeId {
        // The list of nodes may have as many places again.
        self.count(2 * size_of::<Node>());
        self.document.borrow_mut().add(content)
    }

    /// Where text is put after `before`: whether that is text, which it was added to.
    fn extends(&self, before: Option<NodeId>, text: &str) -> bool {
        self.count(text.len());
        let mut document = self.document.borrow_mut();
        let Some(before) = before else { return false };
        let Content::Text(known) = &mut document.node_mut(before).content else { return false };
        known.push_str(text);
        true
    }

    fn placed(&self, id: NodeId) {
        if self.document.borrow().node(id).depth > DEEPEST {
            self.is_too_deep.set(true);
        }
    }

    fn attributes(&self, given: Vec<html5ever::Attribute>) -> Vec<Attribute> {
        let attributes = given.into_iter().map(|given| {
            self.count(size_of::<Attribute>() + given.name.local.len() + given.value.len());
            let prefix = given.name.prefix.map(|prefix| prefix.to_string()).unwrap_or_default();
            Attribute { prefix, name: given.name.local, value: given.value.to_string() }
        });
        attributes.collect()
    }
}

/// The name of an element of a document that is borrowed.
#[derive(Debug)]
struct BorrowedName<'a>(Ref<'a, QualName>);

impl ElemName for BorrowedName<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl TreeSink for Growing {
    type Handle = NodeId;
    type Output = Growing;
    type ElemName<'a> = BorrowedName<'a>;

    fn finish(self) -> Growing {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        NodeId::ROOT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> BorrowedName<'a> {
        BorrowedName(Ref::map(self.document.borrow(), |document| {
            &document.element(*target).expect("the parser asks for names of elements").name
        }))
    }

    fn create_element(&self, name: QualName, attrs: Vec<html5ever::Attribute>, _: ElementFlags) -> NodeId {
        let mut attributes = self.attributes(attrs);
        if name.ns == ns!(html) && FORMATTING.contains(&&*name.local) {
            attributes.sort_by(|one, other| (&one.prefix, &*one.name).cmp(&(&other.prefix, &*other.name)));
        }
        self.add(Content::Element(Element { name, attributes }))
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.count(text.len());
        self.add(Content::Comment(text.to_string()))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.count(target.len() + data.len());
        self.add(Content::Comment(format!("?{target} {data}")))
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        let child = match child {
            NodeOrText::AppendNode(node) => node,
            NodeOrText::AppendText(text) => {
                let last = self.document.borrow().last_child(*parent);
                if self.extends(last, &text) {
                    return;
                }
                self.add(Content::Text(text.to_string()))
            }
        };
        self.document.borrow_mut().append(*parent, child);
        self.placed(child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        let has_parent = self.document.borrow().parent(*element).is_some();
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.count(name.len() + public_id.len() + system_id.len());
        let [name, public_id, system_id] = [name, public_id, system_id].map(|text| text.to_string());
        let doctype = self.add(Content::Doctype { name, public_id, system_id });
        self.document.borrow_mut().append(NodeId::ROOT, doctype);
    }

    /// Its children are what a template contains, as in k6.
    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        *target
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, new_node: NodeOrText<NodeId>) {
        let child = match new_node {
            NodeOrText::AppendNode(node) => {
                self.document.borrow_mut().detach(node);
                node
            }
            NodeOrText::AppendText(text) => {
                let before = self.document.borrow().previous(*sibling);
                if self.extends(before, &text) {
                    return;
                }
                self.add(Content::Text(text.to_string()))
            }
        };
        self.document.borrow_mut().insert_before(*sibling, child);
        self.placed(child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<html5ever::Attribute>) {
        let attributes = self.attributes(attrs);
        let mut document = self.document.borrow_mut();
        let Content::Element(element) = &mut document.node_mut(*target).content else { return };
        for attribute in attributes {
            if element.attribute(&attribute.name).is_none() {
                element.attributes.push(attribute);
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.borrow_mut().detach(*target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let mut document = self.document.borrow_mut();
        while let Some(child) = document.first_child(*node) {
            document.detach(child);
            document.append(*new_parent, child);
        }
    }
}
