//! Bodies of JSON whose quotes a shell has removed.

use evidence::visible;

use super::is_url;

/// The body with its quotes, where an unquoted `{"a":1}` has become `{a:1}`, or in some shells `a:1 b:2`.
pub(super) fn hint(verb: &str, words: &[&str]) -> Option<String> {
    let at = words.iter().position(|word| *word == "-d" || *word == "--json")?;
    let option = words[at];
    let given = words.get(at + 1)?;
    let (read, json) = match quoted(given) {
        Some(json) => ((*given).to_owned(), json),
        None => {
            // Braces with a comma are several words to bash.
            let is_member = |word: &&&str| word.contains(':') && !word.starts_with('-') && !is_url(word);
            let members: Vec<&str> = words[at + 1..].iter().take_while(is_member).copied().collect();
            let json = quoted(&format!("{{{}}}", members.join(","))).filter(|_| members.len() > 1)?;
            (members.join(" "), json)
        }
    };
    let (read, json) = (visible(&read), visible(&json));
    let same = match verb {
        "grpc" => format!("`--data '{read}'`"),
        _ => format!("`--body '{read}'`"),
    };
    Some(format!(
        "the shell removed the quotes of the body and left `{read}`: write `{option} '{json}'`; to send it as it is: {same}"
    ))
}

/// The JSON of an object or a list that lacks its quotes; none if it has some, or would not be JSON with them.
fn quoted(text: &str) -> Option<String> {
    const SIGNS: [char; 6] = ['{', '}', '[', ']', ',', ':'];
    let is_object = text.starts_with('{') && text.contains(':');
    if text.contains('"') || !is_object {
        return None;
    }
    let mut json = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(SIGNS).unwrap_or(rest.len());
        let word = rest[..end].trim();
        match word {
            "" | "true" | "false" | "null" => json.push_str(word),
            number if number.parse::<f64>().is_ok() => json.push_str(number),
            word => json.push_str(&format!("\"{word}\"")),
        }
        let sign = rest[end..].chars().next();
        json.extend(sign);
        rest = &rest[end + sign.map_or(0, char::len_utf8)..];
    }
    serde_json::from_str::<serde_json::Value>(&json).is_ok().then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_gets_its_quotes_back_and_other_bodies_stay() {
        for (text, json) in [
            ("{a:1}", Some(r#"{"a":1}"#)),
            ("{a:{b:[x,true]},c:null}", Some(r#"{"a":{"b":["x",true]},"c":null}"#)),
            ("{\"a\":1}", None),
            ("{user{name}}", None),
            ("{id:${uuid()}}", None),
            ("{}", None),
            ("a:1", None),
        ] {
            assert_eq!(quoted(text).as_deref(), json, "{text}");
        }
        let bash = hint("http", &["http://h/", "-d", "a:1", "b:x", "-n", "5"]).unwrap();
        assert!(bash.contains(r#"write `-d '{"a":1,"b":"x"}'`"#), "{bash}");
        assert_eq!(hint("http", &["http://h/", "-d", "a:1", "http://h/"]), None);
    }
}
