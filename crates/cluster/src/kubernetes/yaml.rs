//! Values as YAML 1.2 in block style. Text that could be read as anything else is quoted as in JSON, which is YAML.

use serde_json::Value;

/// One document.
pub fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

/// Write a value whose lines are indented so far; what is before it on its line is written already.
fn write(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (number, (name, value)) in entries.iter().enumerate() {
                if number > 0 {
                    pad(text, indent);
                }
                text.push_str(&scalar(name));
                text.push(':');
                after_name(text, value, indent);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    pad(text, indent);
                }
                text.push_str("- ");
                write(text, item, indent + 2);
            }
        }
        Value::String(string) => line(text, &scalar(string)),
        other => line(text, &other.to_string()),
    }
}

fn after_name(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            text.push('\n');
            pad(text, indent + 2);
            write(text, value, indent + 2);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            pad(text, indent);
            write(text, value, indent);
        }
        Value::String(string) if is_block(string) => block(text, string, indent + 2),
        _ => {
            text.push(' ');
            write(text, value, indent + 2);
        }
    }
}

fn pad(text: &mut String, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}

/// Several lines that a literal block reproduces: the first is not indented itself, and one line end is last.
fn is_block(string: &str) -> bool {
    let mut lines = string.lines();
    let is_plain =
        |c: char| c == '\n' || c == '\t' || (!c.is_control() && c != '\u{feff}' && !is_line_end(c));
    lines.next().is_some_and(|first| first.starts_with(|c: char| !c.is_whitespace()))
        && string.ends_with('\n')
        && !string.ends_with("\n\n")
        && string.chars().all(is_plain)
}

/// Line ends of YAML 1.1, which older readers know.
fn is_line_end(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn block(text: &mut String, string: &str, indent: usize) {
    text.push_str(" |\n");
    for content in string.lines() {
        if !content.is_empty() {
            pad(text, indent);
        }
        line(text, content);
    }
}

/// A string on one line.
fn scalar(string: &str) -> String {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | ' ');
    let is_word = string.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && string.chars().all(is_inside)
        && !string.ends_with(' ');
    // What YAML 1.1 reads as a boolean or as nothing.
    let other = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    if is_word && !other.contains(&string.to_ascii_lowercase().as_str()) {
        return string.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in string.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if c.is_control() || is_line_end(c) || c == '\u{feff}' => {
                quoted.push_str(&format!("\\u{:04x}", c as u32));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
