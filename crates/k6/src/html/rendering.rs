//! Documents as text: what they say, and as HTML in the form of Go's `net/html`.

use super::tree::{Attribute, Content, Document, Element, Namespace, NodeId};

/// Elements without children.
const VOID: [&str; 15] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements whose text is written as it is.
const LITERAL: [&str; 8] =
    ["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "xmp"];

impl Document {
    /// The text within a node, or the node's own.
    pub(crate) fn text(&self, id: NodeId) -> String {
        if let Content::Text(text) = self.content(id) {
            return text.clone();
        }
        let mut all = String::new();
        for node in self.descendants(id) {
            if let Content::Text(text) = self.content(node) {
                all.push_str(text);
            }
        }
        all
    }

    /// What is within a node, as HTML; none where it has no such form.
    pub(crate) fn inner_html(&self, id: NodeId) -> Option<String> {
        let mut html = Html { document: self, whole: id, text: String::new() };
        let mut open: Vec<&Element> = Vec::new();
        let mut next = self.first_child(id);
        while let Some(node) = next {
            if let Content::Element(element) = self.content(node) {
                html.begin(node, element)?;
                if let Some(child) = self.first_child(node) {
                    open.push(element);
                    next = Some(child);
                    continue;
                }
                if element.name() == "plaintext" && html.is_literal(node, element) {
                    return Some(html.text);
                }
                html.end(element);
            } else {
                html.leaf(node)?;
            }
            let mut last = node;
            next = self.next(last);
            while next.is_none() {
                let Some(element) = open.pop() else { break };
                last = self.parent(last)?;
                if element.name() == "plaintext" && html.is_literal(last, element) {
                    return Some(html.text);
                }
                html.end(element);
                next = self.next(last);
            }
        }
        Some(html.text)
    }
}

struct Html<'d> {
    document: &'d Document,
    /// The node whose content is written; its own text is escaped in any case, as in k6.
    whole: NodeId,
    text: String,
}

impl Html<'_> {
    /// The tag that begins an element; none where it has children that it cannot have.
    fn begin(&mut self, id: NodeId, element: &Element) -> Option<()> {
        self.text.extend(["<", element.name()]);
        for Attribute { prefix, name, value } in &element.attributes {
            let colon = if prefix.is_empty() { "" } else { ":" };
            self.text.extend([" ", prefix, colon, name, "=\""]);
            self.escaped(value);
            self.text.push('"');
        }
        let child = self.document.first_child(id);
        if VOID.contains(&element.name()) {
            self.text.push_str("/>");
            return child.is_none().then_some(());
        }
        self.text.push('>');
        // The first line break of these is left out when they are parsed.
        if let Some(Content::Text(text)) = child.map(|child| self.document.content(child))
            && text.starts_with('\n')
            && matches!(element.name(), "pre" | "listing" | "textarea")
        {
            self.text.push('\n');
        }
        Some(())
    }

    fn end(&mut self, element: &Element) {
        if !VOID.contains(&element.name()) {
            self.text.extend(["</", element.name(), ">"]);
        }
    }

    /// A node that is not an element.
    fn leaf(&mut self, id: NodeId) -> Option<()> {
        match self.document.content(id) {
            Content::Text(text) => {
                let parent = self.document.parent(id)?;
                match self.document.element(parent) {
                    Some(element) if parent != self.whole && self.is_literal(parent, element) => {
                        self.text.push_str(text);
                    }
                    _ => self.escaped(text),
                }
            }
            Content::Comment(text) => self.comment(text),
            Content::Doctype { name, public_id, system_id } => {
                self.text.push_str("<!DOCTYPE ");
                self.escaped(name);
                if !public_id.is_empty() {
                    self.text.push_str(" PUBLIC ");
                    self.quoted(public_id)?;
                    self.text.push_str(if system_id.is_empty() { "" } else { " " });
                } else if !system_id.is_empty() {
                    self.text.push_str(" SYSTEM ");
                }
                if !system_id.is_empty() {
                    self.quoted(system_id)?;
                }
                self.text.push('>');
            }
            Content::Document | Content::Element(_) => {}
        }
        Some(())
    }

    fn is_literal(&self, id: NodeId, element: &Element) -> bool {
        if element.namespace() != Namespace::Html || !LITERAL.contains(&element.name()) {
            return false;
        }
        let mut above = self.document.ancestors(id).filter_map(|node| self.document.element(node));
        let foreign = above.find(|element| element.namespace() != Namespace::Html);
        foreign.is_none_or(Element::is_html_integration_point)
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '\'' => self.text.push_str("&#39;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&#34;"),
                '\r' => self.text.push_str("&#13;"),
                other => self.text.push(other),
            }
        }
    }

    /// A comment, in which nothing ends it.
    fn comment(&mut self, text: &str) {
        self.text.push_str("<!--");
        let mut before = None;
        for character in text.chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '>' if matches!(before, None | Some('!' | '-')) => self.text.push_str("&gt;"),
                other => self.text.push(other),
            }
            before = Some(character);
        }
        self.text.push_str("-->");
    }

    fn quoted(&mut self, text: &str) -> Option<()> {
        let quote = if text.contains('"') { '\'' } else { '"' };
        self.text.push(quote);
        self.text.push_str(&text.replace('>', "&gt;"));
        self.text.push(quote);
        (!(text.contains('"') && text.contains('\''))).then_some(())
    }
}
