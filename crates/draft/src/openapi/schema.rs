//! A schema with all of its parts: what it refers to, its `allOf`, and the first of its `oneOf` or `anyOf`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Document, escaped};
use crate::error::DraftError;

/// The most parts and the deepest chain of them: schemas may contain each other.
const MAX_PARTS: usize = 64;

/// A schema and its parts, itself first.
pub(super) struct Flat<'v> {
    parts: Vec<(&'v Value, String)>,
    /// The property that says which alternative was chosen, and its value.
    chosen: Option<(&'v str, String)>,
}

impl<'v> Flat<'v> {
    pub(super) fn read(
        document: &Document<'v>,
        schema: &'v Value,
        pointer: &str,
    ) -> Result<Flat<'v>, DraftError> {
        let mut flat = Flat { parts: Vec::new(), chosen: None };
        flat.add(document, schema, pointer)?;
        Ok(flat)
    }

    fn add(&mut self, document: &Document<'v>, schema: &'v Value, pointer: &str) -> Result<(), DraftError> {
        let (schema, at) = document.resolved(schema, pointer)?;
        let is_there = self.parts.iter().any(|(known, _)| std::ptr::eq(*known, schema));
        if is_there || self.parts.len() == MAX_PARTS {
            return Ok(());
        }
        self.parts.push((schema, at.clone()));
        let list =
            |key: &str| schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, part) in list("allOf").iter().enumerate() {
            self.add(document, part, &format!("{at}/allOf/{index}"))?;
        }
        for key in ["oneOf", "anyOf"] {
            // Null says that the value may be missing.
            let is_value = |part: &Value| part.get("type").and_then(Value::as_str) != Some("null");
            let alternatives = list(key).iter().enumerate();
            let first = alternatives.clone().find(|(_, part)| is_value(part)).or(alternatives.clone().next());
            if let Some((index, part)) = first {
                self.chosen = self.chosen.take().or_else(|| chosen(schema, part));
                self.add(document, part, &format!("{at}/{key}/{index}"))?;
            }
        }
        Ok(())
    }

    /// The schema itself.
    pub(super) fn own(&self) -> &'v Value {
        self.parts.first().map_or(&Value::Null, |(schema, _)| *schema)
    }

    pub(super) fn own_pointer(&self) -> &str {
        self.parts.first().map_or("", |(_, pointer)| pointer)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'v Value> {
        self.parts.iter().find_map(|(part, _)| part.get(key))
    }

    pub(super) fn get_with_place(&self, key: &str) -> Option<(&'v Value, String)> {
        self.parts.iter().find_map(|(part, at)| Some((part.get(key)?, format!("{at}/{key}"))))
    }

    /// The examples of its parts, its own left out.
    pub(super) fn part_examples(&self) -> impl Iterator<Item = (&'v Value, String)> + '_ {
        let of_part = |(part, at): &(&'v Value, String)| {
            let example = part.get("example").map(|value| (value, format!("{at}/example")));
            let first = || {
                let value = part.get("examples")?.get(0)?;
                Some((value, format!("{at}/examples/0")))
            };
            example.or_else(first)
        };
        self.parts.iter().skip(1).filter_map(of_part)
    }

    pub(super) fn has_properties(&self) -> bool {
        self.get("properties").is_some()
    }

    /// Its properties with their places, in the order of its parts.
    pub(super) fn properties(&self) -> impl Iterator<Item = (&'v str, &'v Value, String)> + '_ {
        self.parts.iter().flat_map(|(part, at)| {
            let properties = part.get("properties").and_then(Value::as_object).into_iter().flatten();
            properties.map(move |(name, schema)| {
                (name.as_str(), schema, format!("{at}/properties/{}", escaped(name)))
            })
        })
    }

    pub(super) fn property(&self, name: &str) -> Option<(&'v Value, String)> {
        self.properties().find(|(known, ..)| *known == name).map(|(_, schema, at)| (schema, at))
    }

    pub(super) fn items(&self) -> Option<(&'v Value, String)> {
        self.get_with_place("items").filter(|(items, _)| items.is_object())
    }

    /// The properties that a value has: those that are required; of a part of which none is required, all.
    pub(super) fn wanted(&self) -> Vec<(&'v str, &'v Value, String)> {
        let required = self.required();
        let has_required = |part: &Value| {
            let properties = part.get("properties").and_then(Value::as_object);
            properties.is_some_and(|properties| required.iter().any(|name| properties.contains_key(*name)))
        };
        let mut wanted: Vec<(&str, &Value, String)> = Vec::new();
        for (part, at) in &self.parts {
            let all = !has_required(part);
            for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let is_new = wanted.iter().all(|(known, ..)| known != name);
                if is_new && (all || required.contains(name.as_str())) {
                    wanted.push((name, schema, format!("{at}/properties/{}", escaped(name))));
                }
            }
        }
        wanted
    }

    fn required(&self) -> BTreeSet<&'v str> {
        let lists = self.parts.iter().filter_map(|(part, _)| part.get("required").and_then(Value::as_array));
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// Its type; of several, since 3.1, the first that is not null.
    pub(super) fn type_name(&self) -> Option<&'v str> {
        let types = self.types();
        types.iter().find(|name| **name != "null").or(types.first()).copied()
    }

    fn types(&self) -> Vec<&'v str> {
        match self.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether its values are texts and nothing else, or null.
    pub(super) fn is_only_text(&self) -> bool {
        let types = self.types();
        types.contains(&"string") && types.iter().all(|name| matches!(*name, "string" | "null"))
    }

    /// The value of the property `name`, if that says which alternative this is.
    pub(super) fn discriminator(&self, name: &str) -> Option<&str> {
        self.chosen.as_ref().filter(|(property, _)| *property == name).map(|(_, value)| value.as_str())
    }
}

/// The property that names the alternative `part` of `schema`, and its name there.
fn chosen<'v>(schema: &'v Value, part: &'v Value) -> Option<(&'v str, String)> {
    let discriminator = schema.get("discriminator")?;
    let property = discriminator.get("propertyName")?.as_str()?;
    let reference = part.get("$ref")?.as_str()?;
    let name = reference.rsplit('/').next().unwrap_or_default();
    let mapping = discriminator.get("mapping").and_then(Value::as_object).into_iter().flatten();
    let is_part =
        |target: &Value| target.as_str().is_some_and(|target| target == reference || target == name);
    let mapped = mapping.into_iter().find(|(_, target)| is_part(target)).map(|(key, _)| key.clone());
    Some((property, mapped.unwrap_or_else(|| name.to_owned())))
}
