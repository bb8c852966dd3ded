//! A reader of the HTML and XML that reports consist of: elements that are all closed, and no comments.

/// An element, or a text.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Empty for a text.
    pub(super) tag: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
    text: String,
}

/// Elements without an end.
const VOID: [&str; 5] = ["meta", "br", "wbr", "link", "?xml"];
/// Elements whose content is not markup.
const RAW: [&str; 2] = ["style", "script"];

impl Node {
    /// The document as one element without a name.
    pub(super) fn parse(source: &str) -> Node {
        let mut open = vec![Node::default()];
        let source = with_backticks(source);
        let mut rest = source.as_str();
        while let Some(at) = rest.find('<') {
            add_text(&mut open, &rest[..at]);
            let end = at + rest[at..].find('>').expect("a tag has an end");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                let closed = open.pop().unwrap();
                assert_eq!(closed.tag, name, "an element is closed by another");
                open.last_mut().expect("the document is not closed").children.push(closed);
            } else if !tag.starts_with('!') {
                let is_closed = tag.ends_with('/');
                let node = Node::of(tag.trim_end_matches('/'));
                if is_closed || VOID.contains(&node.tag.as_str()) {
                    open.last_mut().unwrap().children.push(node);
                } else {
                    if RAW.contains(&node.tag.as_str()) {
                        rest = &rest[rest.find(&format!("</{}", node.tag)).unwrap()..];
                    }
                    open.push(node);
                }
            }
        }
        let [document] = open.try_into().expect("every element is closed");
        document
    }

    fn of(tag: &str) -> Node {
        let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let mut node = Node { tag: name.to_owned(), ..Node::default() };
        while let Some((name, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"').unwrap();
            node.attributes.push((name.trim().to_owned(), unescaped(value)));
            rest = after;
        }
        node
    }

    /// The elements and texts in it.
    pub(super) fn children(&self) -> &[Node] {
        &self.children
    }

    /// The value of an attribute; empty without it.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(of, _)| of == name).map_or("", |(_, value)| value)
    }

    /// Its text, without space at its ends.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.add_text_to(&mut text);
        text.trim().to_owned()
    }

    fn add_text_to(&self, text: &mut String) {
        text.push_str(&self.text);
        self.children.iter().for_each(|child| child.add_text_to(text));
    }

    /// Every element that `selector` selects: `tag`, `.class`, `tag.class` or `tag#id`; in document order, without those
    /// inside another.
    pub(super) fn all(&self, selector: &str) -> Vec<&Node> {
        let mut found = Vec::new();
        for child in &self.children {
            if child.is(selector) {
                found.push(child);
            } else {
                found.extend(child.all(selector));
            }
        }
        found
    }

    /// The first element that `selector` selects.
    pub(super) fn first(&self, selector: &str) -> Option<&Node> {
        self.all(selector).into_iter().next()
    }

    /// Takes every element that `selector` selects out of the document.
    pub(super) fn take(&mut self, selector: &str) -> Vec<Node> {
        let mut taken = Vec::new();
        let mut kept = Vec::new();
        for mut child in std::mem::take(&mut self.children) {
            if child.is(selector) {
                taken.push(child);
            } else {
                taken.extend(child.take(selector));
                kept.push(child);
            }
        }
        self.children = kept;
        taken
    }

    fn is(&self, selector: &str) -> bool {
        let at = selector.find(['.', '#']).unwrap_or(selector.len());
        let (tag, rest) = selector.split_at(at);
        let is_named = match rest.split_at_checked(1) {
            Some((".", class)) => self.attribute("class").split_whitespace().any(|of| of == class),
            Some((_, id)) => self.attribute("id") == id,
            None => true,
        };
        (tag.is_empty() && !self.tag.is_empty() || self.tag == tag) && is_named
    }

    /// Every text in it, trimmed.
    pub(super) fn texts(&self) -> Vec<&str> {
        let own = Some(self.text.trim()).filter(|text| !text.is_empty());
        own.into_iter().chain(self.children.iter().flat_map(Node::texts)).collect()
    }
}

/// The source, in which code within a text is between backticks, as other forms have it.
fn with_backticks(source: &str) -> String {
    let mut parts = source.split("<code class=\"inline\">");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{text}`{}", part.replacen("</code>", "`", 1)))
}

fn add_text(open: &mut [Node], text: &str) {
    if !text.is_empty() {
        let text = Node { text: unescaped(text), ..Node::default() };
        open.last_mut().unwrap().children.push(text);
    }
}

fn unescaped(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#34;", "\"")];
    let more = [("&#60;", "<"), ("&#62;", ">"), ("&apos;", "'"), ("&#38;", "&"), ("&amp;", "&")];
    names.iter().chain(&more).fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}
