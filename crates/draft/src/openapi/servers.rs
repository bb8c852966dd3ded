//! Where the operations of a description are: the servers of an operation, of its path or of the whole description.

use serde_json::Value;

use super::document::Document;
use crate::error::DraftError;
use crate::url::split;

/// The base URL of an operation: of the nearest `servers` the first. An address that the user gives replaces its scheme,
/// host and port, and the path too where it has one itself.
pub(super) fn base_url(
    document: &Document<'_>,
    owners: &[(&Value, &str)],
    given: Option<&str>,
) -> Result<String, DraftError> {
    let has_servers = |(owner, _): &&(&Value, &str)| owner.pointer("/servers/0").is_some();
    let (owner, at) = owners.iter().find(has_servers).copied().unwrap_or((document.root, ""));
    let place = document.place(&format!("{at}/servers/0/url"));
    let described = owner.pointer("/servers/0/url").and_then(Value::as_str).unwrap_or("/");
    let described = with_defaults(described, owner.pointer("/servers/0/variables"), given)
        .map_err(|why| DraftError::at(&place, why))?;
    let is_whole = described.contains("://");
    let (url, place) = match given {
        Some(given) => {
            let parts = split(given).map_err(|why| DraftError::at("--server", why))?;
            let path = match (parts.path.as_str(), is_whole) {
                ("/", true) => split(&described).map(|parts| parts.path).unwrap_or_default(),
                ("/", false) => format!("/{}", described.trim_start_matches('/')),
                (path, _) => path.to_owned(),
            };
            (format!("{}{path}", parts.origin), "--server".to_owned())
        }
        None if is_whole => (described, place),
        None => {
            let why = format!("`{described}` has no host: give one with `--server http://127.0.0.1:8000`");
            return Err(DraftError::at(place, why));
        }
    };
    let parts = split(&url).map_err(|why| DraftError::at(place.clone(), why))?;
    if parts.path.contains(['?', '$', '{']) {
        return Err(DraftError::at(
            place,
            format!("`{url}` is not a base URL: give one with `--server URL`"),
        ));
    }
    Ok(format!("{}{}", parts.origin, parts.path.trim_end_matches('/')))
}

/// `https://{region}.example.com` with its variables' defaults, or else their first allowed values. A variable of a host
/// that is replaced anyway may have none.
fn with_defaults(url: &str, variables: Option<&Value>, given: Option<&str>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(before);
        let variable = variables.and_then(|variables| variables.get(name));
        let of = |pointer: &str| variable.and_then(|variable| variable.pointer(pointer));
        match of("/default").or(of("/enum/0")) {
            Some(Value::String(text)) => out.push_str(text),
            Some(other @ (Value::Number(_) | Value::Bool(_))) => out.push_str(&other.to_string()),
            _ if given.is_some() => out.push_str("variable"),
            _ => {
                return Err(format!(
                    "the variable `{name}` of `{url}` has no default: give the address with `--server URL`"
                ));
            }
        }
        rest = after;
    }
    Ok(out + rest)
}
