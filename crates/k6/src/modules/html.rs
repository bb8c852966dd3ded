//! `k6/html`. What a script gets are objects of `html/selection.js` and `html/elements.js`, made when it first parses something; they
//! refer to nodes by numbers, and ask the document that holds them.

use std::borrow::Cow;
use std::ffi::CStr;
use std::rc::Rc;

use engine::HeldBytes;

use crate::html::{self, Content, Document, Kin, Namespace, NodeId, SelectorGroup, TooManySteps, Until};
use crate::js::{Call, Scope, Shared, Thrown, Value};
use crate::modules::defining::add;
use crate::modules::display::go_type;
use crate::vu::Vu;

/// What the objects of scripts are made by: functions that are given a document, and one that tells elements apart.
const SELECTION: &str = include_str!("html/selection.js");
const ELEMENTS: &str = include_str!("html/elements.js");

/// A document that a script holds, with what it takes of the run's memory for responses.
struct HtmlDocument {
    document: Document,
    _held: HeldBytes,
}

impl Shared for HtmlDocument {
    const CLASS: &'static CStr = c"HtmlDocument";
}

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let exports = scope.object();
    add(&exports, "parseHTML", 1, |call| {
        let source = call.argument(0);
        let text = if source.is_nullish() { String::new() } else { source.text()?.to_string() };
        parsed(call.scope(), &text, "")
    })?;
    Ok(exports)
}

/// A text as a document, as the selection of all of it; links are relative to the URL.
pub(super) fn parsed<'js>(scope: Scope<'js>, text: &str, url: &str) -> Result<Value<'js>, Thrown> {
    let mut held = HeldBytes::new(Vu::of(scope).shared.script.budget());
    let mut refusal = None;
    let document = html::parse(text, &mut |by| {
        refusal = held.grow(by).err();
        refusal.is_none()
    });
    let document = document.map_err(|error| match refusal {
        Some(reason) => scope.throw(&format!("the HTML document cannot be kept: {reason}")),
        None => scope.throw(&error.to_string()),
    })?;
    let library = library(scope)?;
    let document = scope.hold(Rc::new(HtmlDocument { document, _held: held }))?;
    library.get("selected")?.call(&library, &[document, scope.string(url)])
}

/// What documents inherit from in this context: how nodes are found, and the functions of JavaScript.
pub(super) fn library(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let known = scope.class_prototype::<HtmlDocument>()?;
    if known.is_object() {
        return Ok(known);
    }
    let library = scope.object();
    add(&library, "find", 2, find)?;
    add(&library, "filter", 3, filter)?;
    add(&library, "around", 3, around)?;
    add(&library, "closest", 2, closest)?;
    add(&library, "within", 2, within)?;
    add(&library, "relative", 2, relative)?;
    add(&library, "text", 1, text)?;
    add(&library, "html", 1, inner_html)?;
    add(&library, "attribute", 2, attribute)?;
    add(&library, "attributes", 1, attributes)?;
    add(&library, "node", 1, node)?;
    add(&library, "typeName", 1, |call| Ok(call.scope().string(go_type(&call.argument(0)))))?;
    let elements = scope.run(ELEMENTS, "k6/html")?;
    let selection = scope.run(SELECTION, "k6/html")?;
    let functions = selection.call(&scope.undefined(), &[library.clone(), elements])?;
    for name in functions.keys()? {
        library.set(&name, &functions.get(&name)?)?;
    }
    scope.set_class_prototype::<HtmlDocument>(library.clone())?;
    Ok(library)
}

fn this(call: &Call<'_, '_>) -> Result<Rc<HtmlDocument>, Thrown> {
    call.this().held().ok_or_else(|| call.scope().throw_type_error("not an HTML document"))
}

impl HtmlDocument {
    fn node(&self, number: &Value<'_>) -> Result<NodeId, Thrown> {
        let id = self.document.node_id(number.as_number()? as u32);
        id.ok_or_else(|| number.scope().throw_type_error("not a node of the document"))
    }

    fn nodes(&self, list: &Value<'_>) -> Result<Vec<NodeId>, Thrown> {
        (0..list.length()?).map(|index| self.node(&list.at(index)?)).collect()
    }

    /// A selector, or nodes.
    fn target(&self, given: &Value<'_>) -> Result<Target, Thrown> {
        Ok(match given.is_string() {
            true => html::parse_selector(&given.text()?).map_or(Target::Nothing, Target::Matched),
            false => Target::Nodes(self.nodes(given)?),
        })
    }
}

/// What nodes are compared with.
enum Target {
    /// What is not a selector matches nothing, as in k6.
    Nothing,
    Matched(SelectorGroup),
    Nodes(Vec<NodeId>),
}

impl Target {
    fn as_until(&self) -> Until<'_> {
        match self {
            Target::Nothing => Until::End,
            Target::Matched(group) => Until::Matched(group),
            Target::Nodes(nodes) => Until::Nodes(nodes),
        }
    }
}

fn numbers<'js>(scope: Scope<'js>, found: Result<Vec<NodeId>, TooManySteps>) -> Result<Value<'js>, Thrown> {
    let list = scope.array();
    let found = found.map_err(|error| scope.throw(&error.to_string()))?;
    for (index, id) in (0..).zip(found) {
        list.put(index, scope.number(id.as_number().into()))?;
    }
    Ok(list)
}

/// `find(nodes, selector)`: those within them.
fn find<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let held = this(call)?;
    let nodes = held.nodes(&call.argument(0))?;
    numbers(
        call.scope(),
        match html::parse_selector(&call.argument(1).text()?) {
            Some(group) => held.document.find(&nodes, &group),
            None => Ok(Vec::new()),
        },
    )
}

/// `filter(nodes, selector)`.
fn filter<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let held = this(call)?;
    let nodes = held.nodes(&call.argument(0))?;
    numbers(
        call.scope(),
        match html::parse_selector(&call.argument(1).text()?) {
            Some(group) => held.document.filter(&nodes, &group),
            None => Ok(Vec::new()),
        },
    )
}

/// `around(nodes, kin, until)`.
fn around<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let held = this(call)?;
    let nodes = held.nodes(&call.argument(0))?;
    let kin = match &*call.argument(1).text()? {
        "children" => Kin::Children,
        "contents" => Kin::Contents,
        "parent" => Kin::Parent,
        "parents" => Kin::Parents,
        "siblings" => Kin::Siblings,
        "next" => Kin::Next,
        "nextAll" => Kin::NextAll,
        "prev" => Kin::Previous,
        _ => Kin::PreviousAll,
    };
    let until = call.argument(2);
    let until = if until.is_undefined() { Target::Nothing } else { held.target(&until)? };
    numbers(call.scope(), held.document.around(&nodes, kin, &until.as_until()))
}

/// `closest(nodes, selector or nodes)`.
fn closest<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let held = this(call)?;
    let nodes = held.nodes(&call.argument(0))?;
    let target = held.target(&call.argument(1))?;
    numbers(call.scope(), held.document.closest(&nodes, &target.as_until()))
}

/// `within(containers, nodes)`: those of the nodes that are within one of the containers.
fn within<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let held = this(call)?;
    let (containers, mut nodes) = (held.nodes(&call.argument(0))?, held.nodes(&call.argument(1))?);
    nodes.retain(|node| held.document.is_within(&containers, *node));
    numbers(call.scope(), Ok(nodes))
}

/// `relative(node, which)`: its number; `undefined` where there is none.
fn relative<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, held) = (call.scope(), this(call)?);
    let (node, document) = (held.node(&call.argument(0))?, &held.document);
    let found = match &*call.argument(1).text()? {
        "firstChild" => document.first_child(node),
        "lastChild" => document.last_child(node),
        "previousSibling" => document.previous(node),
        "nextSibling" => document.next(node),
        _ => document.parent(node),
    };
    Ok(found.map_or_else(|| scope.undefined(), |id| scope.number(id.as_number().into())))
}

/// `text(nodes)`.
fn text<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let held = this(call)?;
    let nodes = held.nodes(&call.argument(0))?;
    let text: Cow<'_, str> = nodes.iter().map(|node| held.document.text(*node)).collect();
    Ok(call.scope().string(&text))
}

/// `html(node)`: what is within it.
fn inner_html<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, held) = (call.scope(), this(call)?);
    let html = held.document.inner_html(held.node(&call.argument(0))?);
    Ok(html.map_or_else(|| scope.undefined(), |html| scope.string(&html)))
}

/// `attribute(node, name)`: its value.
fn attribute<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, held) = (call.scope(), this(call)?);
    let element = held.document.element(held.node(&call.argument(0))?);
    let value = element.and_then(|element| element.attribute(&call.argument(1).text().ok()?));
    Ok(value.map_or_else(|| scope.undefined(), |value| scope.string(value)))
}

/// `attributes(node)`: of each `[prefix, name, value]`.
fn attributes<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, held) = (call.scope(), this(call)?);
    let list = scope.array();
    let element = held.document.element(held.node(&call.argument(0))?);
    let attributes = element.iter().flat_map(|element| &element.attributes);
    for (index, attribute) in (0..).zip(attributes) {
        let parts = scope.array();
        for (place, part) in (0..).zip([&*attribute.prefix, &*attribute.name, &*attribute.value]) {
            parts.put(place, scope.string(part))?;
        }
        list.put(index, parts)?;
    }
    Ok(list)
}

/// `node(node)`: `[nodeType, nodeName, namespace]`.
fn node<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, held) = (call.scope(), this(call)?);
    let (kind, name, namespace) = match held.document.content(held.node(&call.argument(0))?) {
        Content::Document => (9, "#document", ""),
        Content::Doctype { name, .. } => (10, name.as_str(), ""),
        Content::Text(_) => (3, "#text", ""),
        Content::Comment(_) => (8, "#comment", ""),
        Content::Element(element) => (
            1,
            element.name(),
            match element.namespace() {
                Namespace::Html => "",
                Namespace::Svg => "svg",
                Namespace::MathMl => "math",
            },
        ),
    };
    let parts = scope.array();
    parts.put(0, scope.number(kind.into()))?;
    parts.put(1, scope.string(name))?;
    parts.put(2, scope.string(namespace))?;
    Ok(parts)
}
