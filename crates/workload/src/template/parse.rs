//! Parses templates.

use super::{Part, TemplateError, Value};

/// The parts of `source`.
pub(super) fn parse(source: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = source[at..].find("${") {
        let open = at + found;
        if source[..open].ends_with('$') && open > at {
            // `$${` is an escape. Its first `$`, which precedes `open`, becomes the `$` of a literal `${`.
            literal.push_str(&source[at..open]);
            literal.push('{');
            at = open + 2;
            continue;
        }
        literal.push_str(&source[at..open]);
        if !literal.is_empty() {
            parts.push(Part::Literal(std::mem::take(&mut literal)));
        }
        let (part, end) = expression(source, open)?;
        parts.push(part);
        at = end;
    }
    literal.push_str(&source[at..]);
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

/// The part whose `${` is at `open`, and the index of the byte after its `}`.
fn expression(source: &str, open: usize) -> Result<(Part, usize), TemplateError> {
    let start = open + 2;
    let length = closing(&source[start..])
        .ok_or_else(|| wrong(open, "`${` without `}`; write `$${` for a literal `${`"))?;
    let text = &source[start..start + length];
    let whole = text.trim_end();
    let (text, part): (_, fn(Value) -> Part) =
        match (whole.strip_suffix("| json"), whole.strip_suffix("| url")) {
            (Some(text), _) => (text, Part::JsonValue),
            (_, Some(text)) => (text, Part::UrlValue),
            _ => (text, Part::Value),
        };
    let value = value(text).map_err(|message| TemplateError { message, at: open })?;
    Ok((part(value), start + length + 1))
}

/// The index of the `}` that ends an expression; `}` inside quotes do not count.
fn closing(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn value(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if let Some((name, rest)) = text.split_once('(') {
        let inner =
            rest.strip_suffix(')').ok_or_else(|| format!("`${{{text}}}`: a `(` without `)` at the end"))?;
        return function(name.trim(), &arguments(inner)?);
    }
    match text {
        "iteration" => return Ok(Value::Iteration),
        "vu" => return Ok(Value::VirtualUser),
        "now" | "uuid" => return Err(format!("`${{{text}}}` is a function: write `${{{text}()}}`")),
        _ => {}
    }
    match text.split_once('.') {
        Some(("env", name)) if is_name(name) => Ok(Value::Env(name.to_owned())),
        Some((set, column)) if is_name(set) && !column.is_empty() => {
            Ok(Value::Data { set: set.to_owned(), column: column.to_owned() })
        }
        None if is_name(text) => Ok(Value::Variable(text.to_owned())),
        _ => Err(format!("`${{{text}}}` is not a value; names are letters, digits, `_` and `-`")),
    }
}

/// Whether `text` can name a variable, a data file or a target: letters, digits, `_`, `-`.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// An argument of a function: quoted text, or a bare word.
enum Argument {
    Quoted(String),
    Bare(String),
}

impl Argument {
    fn text(&self) -> &str {
        match self {
            Argument::Quoted(text) | Argument::Bare(text) => text,
        }
    }

    fn whole_number<N: std::str::FromStr>(&self) -> Result<N, String> {
        self.text().parse().map_err(|_| format!("`{}` is not a whole number in range", self.text()))
    }
}

fn arguments(text: &str) -> Result<Vec<Argument>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (argument, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_text(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Argument::Bare(rest[..end].trim().to_owned()), &rest[end..])
            }
        };
        found.push(argument);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(more) if !more.trim().is_empty() => rest = more.trim_start(),
            Some(_) => return Err("an argument is missing after the last `,`".to_owned()),
            None if rest.is_empty() => {}
            None => return Err(format!("`,` or `)` expected before `{rest}`")),
        }
    }
    Ok(found)
}

/// The text up to the closing quote, with `\"` and `\\` resolved, and the rest after it.
fn quoted_text(text: &str) -> Result<(Argument, &str), String> {
    let mut unquoted = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                unquoted.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Ok((Argument::Quoted(unquoted), &text[at + 1..])),
            _ => unquoted.push(c),
        }
    }
    Err("a `\"` without a closing `\"`".to_owned())
}

fn function(name: &str, arguments: &[Argument]) -> Result<Value, String> {
    match (name, arguments) {
        ("random", [low, high]) => {
            let (low, high) = (low.whole_number()?, high.whole_number()?);
            if low > high {
                return Err(format!("`random({low}, {high})`: the first must not be above the second"));
            }
            Ok(Value::Random { low, high })
        }
        ("random", _) => Err("`random` takes two whole numbers: `random(1, 1000)`".to_owned()),
        ("choice", []) => Err("`choice` takes one text or more: `choice(\"a\", \"b\")`".to_owned()),
        ("choice", texts) => Ok(Value::Choice(texts.iter().map(|t| t.text().to_owned()).collect())),
        ("counter", [name]) if is_name(name.text()) => {
            Ok(Value::Counter { name: name.text().to_owned(), start: 0 })
        }
        ("counter", [name, start]) if is_name(name.text()) => {
            Ok(Value::Counter { name: name.text().to_owned(), start: start.whole_number()? })
        }
        ("counter", _) => {
            Err("`counter` takes a name and, if not 0, a start: `counter(order, 1)`".to_owned())
        }
        ("uuid", []) => Ok(Value::Uuid),
        ("now", []) => Ok(Value::Now),
        ("uuid" | "now", _) => Err(format!("`{name}` takes no argument: `{name}()`")),
        _ => Err(unknown_function(name)),
    }
}

fn unknown_function(name: &str) -> String {
    let known = ["random", "choice", "counter", "uuid", "now"];
    let hint = crate::nearest::nearest(name, known).map_or_else(
        || format!("known are {}", known.map(|k| format!("`{k}`")).join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    format!("there is no function `{name}`; {hint}")
}

fn wrong(at: usize, message: &str) -> TemplateError {
    TemplateError { message: message.to_owned(), at }
}
