//! Objects checked by the schema of the API of Kubernetes: every field must be known, of its type, and there if it is required.

use serde_json::Value;

pub(crate) struct Schema(Value);

impl Schema {
    pub(crate) fn of_the_api() -> Schema {
        let path = peers::kubernetes::api_schema().unwrap();
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Schema(serde_json::from_str(&text).unwrap())
    }

    /// What the API would not take of this object.
    pub(crate) fn complaints(&self, object: &Value) -> Vec<String> {
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let is_it =
            |named: &Value| named["group"] == group && named["version"] == version && named["kind"] == kind;
        let names = |definition: &&Value| {
            let named = definition["x-kubernetes-group-version-kind"].as_array();
            // Options of a deletion have the name of every group.
            named.is_some_and(|named| named.len() == 1 && is_it(&named[0]))
        };
        let Some(definition) = self.0["definitions"].as_object().unwrap().values().find(names) else {
            return vec![format!("the API has no {kind} of {group}/{version}")];
        };
        let mut complaints = Vec::new();
        self.check(object, definition, "", &mut complaints);
        complaints
    }

    fn check(&self, value: &Value, schema: &Value, at: &str, complaints: &mut Vec<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            let definition = self.0.pointer(reference.trim_start_matches('#'));
            return self.check(value, definition.unwrap_or_else(|| panic!("{reference}")), at, complaints);
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            complaints.push(format!("{at}: {value} is none of {allowed:?}"));
        }
        let is_either = schema["format"] == "int-or-string" && value.is_i64();
        let wanted = match schema["type"].as_str() {
            Some("string") if !value.is_string() && !is_either => "text",
            Some("integer") if !value.is_i64() => "integer",
            Some("number") if !value.is_number() => "number",
            Some("boolean") if !value.is_boolean() => "boolean",
            Some("array") if !value.is_array() => "list",
            Some("object") | None if !value.is_object() => "object",
            _ => return self.check_inside(value, schema, at, complaints),
        };
        complaints.push(format!("{at}: no {wanted}"));
    }

    fn check_inside(&self, value: &Value, schema: &Value, at: &str, complaints: &mut Vec<String>) {
        for (number, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(item, &schema["items"], &format!("{at}[{number}]"), complaints);
        }
        let Some(entries) = value.as_object() else { return };
        let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        complaints.extend(
            required
                .filter(|name| !entries.contains_key(*name))
                .map(|name| format!("{}: missing", below(name))),
        );
        for (name, value) in entries {
            let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
            match known {
                Some(known) => self.check(value, known, &below(name), complaints),
                None => complaints.push(format!("{}: unknown", below(name))),
            }
        }
    }
}
