//! Figures as Markdown: tables, and the text between two markers of a document.

use anyhow::{Context as _, Result};

/// A titled table with remarks below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) title: String,
    pub(super) head: &'static [&'static str],
    pub(super) rows: Vec<Vec<String>>,
    pub(super) notes: Vec<String>,
}

impl Table {
    /// The Markdown, ending in an empty line.
    pub(super) fn render(&self) -> String {
        let mut text = if self.title.is_empty() { String::new() } else { format!("### {}\n\n", self.title) };
        if !self.rows.is_empty() {
            let rule: Vec<&str> =
                (0..self.head.len()).map(|column| if column == 0 { "---" } else { "--:" }).collect();
            text += &format!("| {} |\n| {} |\n", self.head.join(" | "), rule.join(" | "));
            self.rows.iter().for_each(|row| text += &format!("| {} |\n", row.join(" | ")));
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text += &format!("- {note}\n"));
        if !self.notes.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// A count with a comma between thousands.
pub(super) fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A figure with this many decimals, or a dash where nothing was measured.
pub(super) fn figure(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.decimals$}"))
}

/// Puts `text` between the markers of `name`.
///
/// # Errors
/// When the document has no such markers.
pub(super) fn replace(document: &str, name: &str, text: &str) -> Result<String> {
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word} {name} -->"));
    let missing = || format!("the document has no markers `{begin}` and `{end}`");
    let (before, rest) = document.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_by_commas() {
        let expect = [(0.4, "0"), (999.6, "1,000"), (12.0, "12"), (1_234_567.0, "1,234,567"), (-3.0, "0")];
        for (number, text) in expect {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!((figure(None, 2), figure(Some(1.005), 1)), ("–".to_owned(), "1.0".to_owned()));
    }

    #[test]
    fn tables_have_title_rows_and_remarks() {
        let table = Table {
            title: "Work".to_owned(),
            head: &["what", "a second"],
            rows: vec![vec!["list".to_owned(), count(7300.0)]],
            notes: vec!["quiet".to_owned()],
        };
        let text = "### Work\n\n| what | a second |\n| --- | --: |\n| list | 7,300 |\n\n- quiet\n\n";
        assert_eq!(table.render(), text);
        assert_eq!(Table { rows: Vec::new(), ..table }.render(), "### Work\n\n- quiet\n\n");
    }

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let document = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n";
        let replaced = replace(document, "x", "new\n\n").expect("it has the markers");
        assert_eq!(replaced, "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n");
        assert!(replace(document, "y", "new").is_err());
    }
}
