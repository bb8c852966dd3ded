//! Words that this project no longer uses, each with the term to write instead: `chores/retired-words.txt`.

use std::collections::HashMap;
use std::ops::Range;

use super::complaint::Complaint;
use super::tree::{Source, Tree};

const LIST: &str = include_str!("../../retired-words.txt");
const LIST_PATH: &str = "chores/retired-words.txt";

/// Files in which words are looked for; in the names of all others too.
const KINDS: &[&str] = &["rs", "md", "toml", "html", "yaml", "yml", "proto", "go", "sh", "sql"];

/// The page that explains which words are retired.
const EXEMPT: &str = "docs/style.md";

/// What may separate the words of a phrase: blanks, the start of a comment's next line, joints of identifiers.
const JOINTS: &[char] = &['_', '-', '/', '!', '*', '#', '\\', '>'];

/// What begins a type's definition.
const TYPE_KEYWORDS: &[&str] = &["struct", "enum", "union", "trait", "type"];

/// One line of the list.
#[derive(Debug, Default, PartialEq, Eq)]
struct Entry {
    /// Words in lower case, several in a row for a phrase.
    phrases: Vec<Vec<String>>,
    type_names: Vec<String>,
    instead: String,
    /// Where the entry counts; everywhere when empty.
    below: Vec<String>,
    /// Texts within which an occurrence does not count.
    except: Vec<String>,
}

/// The list, with its phrases by their first word.
struct Retired {
    entries: Vec<Entry>,
    by_first_word: HashMap<String, Vec<PhraseRef>>,
}

/// A phrase of an entry.
#[derive(Clone, Copy)]
struct PhraseRef {
    entry: usize,
    phrase: usize,
}

/// A word, or a part of an identifier.
struct Token {
    range: Range<usize>,
    lower: String,
}

/// Every occurrence of a retired word in texts, file names and names of types.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    check_against(tree, LIST)
}

fn check_against(tree: &Tree, list: &str) -> Vec<Complaint> {
    let retired = match Retired::parse(list) {
        Ok(retired) => retired,
        Err(line) => {
            return vec![Complaint {
                path: LIST_PATH.to_owned(),
                line,
                wrong: "this line is no entry".to_owned(),
                instead: "write `FORMS | INSTEAD | PATHS | EXCEPTIONS`; the last two may be left out"
                    .to_owned(),
            }];
        }
    };
    let sources = tree.sources.iter().filter(|source| source.path != EXEMPT && source.path != LIST_PATH);
    sources.flat_map(|source| retired.in_source(source)).collect()
}

impl Retired {
    /// # Errors
    /// The number of the first line that is no entry.
    fn parse(list: &str) -> Result<Self, usize> {
        let mut entries = Vec::new();
        for (index, line) in list.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                entries.push(Entry::parse(line).ok_or(index + 1)?);
            }
        }
        let mut by_first_word: HashMap<String, Vec<PhraseRef>> = HashMap::new();
        for (entry, of_entry) in entries.iter().enumerate() {
            for (phrase, words) in of_entry.phrases.iter().enumerate() {
                by_first_word.entry(words[0].clone()).or_default().push(PhraseRef { entry, phrase });
            }
        }
        Ok(Self { entries, by_first_word })
    }

    fn in_source(&self, source: &Source) -> Vec<Complaint> {
        let mut complaints = self.in_file_name(source);
        if KINDS.iter().any(|kind| source.path.rsplit_once('.').is_some_and(|(_, ending)| ending == *kind)) {
            complaints.extend(self.in_text(source));
            complaints.extend(self.in_type_names(source));
        }
        complaints
    }

    fn in_file_name(&self, source: &Source) -> Vec<Complaint> {
        let found = self.occurrences(&source.path, &source.path);
        found
            .into_iter()
            .map(|(entry, at)| Complaint {
                path: source.path.clone(),
                line: 1,
                wrong: format!("`{}` in the file's name is retired", &source.path[at]),
                instead: format!("write: {}", entry.instead),
            })
            .collect()
    }

    fn in_text(&self, source: &Source) -> Vec<Complaint> {
        let found = self.occurrences(&source.text, &source.path);
        found
            .into_iter()
            .map(|(entry, at)| Complaint {
                path: source.path.clone(),
                line: source.line_at(at.start),
                wrong: format!("`{}` is retired", on_one_line(&source.text[at])),
                instead: format!("write: {}", entry.instead),
            })
            .collect()
    }

    fn in_type_names(&self, source: &Source) -> Vec<Complaint> {
        let Some(code) = &source.code else { return Vec::new() };
        let mut complaints = Vec::new();
        for at in TYPE_KEYWORDS.iter().flat_map(|keyword| code.find(keyword).map(|at| at + keyword.len())) {
            let rest = code.masked[at..].trim_start();
            let name: &str =
                rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let counts =
                |entry: &&Entry| entry.counts_in(&source.path) && entry.type_names.iter().any(|n| n == name);
            complaints.extend(self.entries.iter().filter(counts).map(|entry| Complaint {
                path: source.path.clone(),
                line: source.line_at(at),
                wrong: format!("a type named just `{name}`"),
                instead: entry.instead.clone(),
            }));
        }
        complaints
    }

    /// Where phrases that count in `path` occur in `text`, which is the file's content or its name.
    fn occurrences(&self, text: &str, path: &str) -> Vec<(&Entry, Range<usize>)> {
        let tokens = tokens(text);
        let mut found = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            for at in self.by_first_word.get(&token.lower).into_iter().flatten() {
                let entry = &self.entries[at.entry];
                let words = &entry.phrases[at.phrase];
                let Some(range) = matched(text, &tokens[index..], words) else { continue };
                if entry.counts_in(path) && !entry.is_excepted(text, &range) {
                    found.push((entry, range));
                }
            }
        }
        found
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('|').map(str::trim);
        let (forms, instead) = (fields.next()?, fields.next()?);
        let list = |field: Option<&str>| -> Vec<String> {
            field.into_iter().flat_map(|text| text.split(',')).map(|one| one.trim().to_owned()).collect()
        };
        let mut entry = Self { instead: instead.to_owned(), ..Self::default() };
        for form in list(Some(forms)) {
            match form.strip_prefix("type ") {
                Some(name) => entry.type_names.push(name.trim().to_owned()),
                None => entry.phrases.push(form.split_whitespace().map(str::to_lowercase).collect()),
            }
        }
        let is_sound = !entry.instead.is_empty() && entry.phrases.iter().all(|words| !words.is_empty());
        entry.below = list(fields.next().filter(|field| !field.is_empty()));
        entry.except = list(fields.next().filter(|field| !field.is_empty()));
        (is_sound && fields.next().is_none()).then_some(entry)
    }

    fn counts_in(&self, path: &str) -> bool {
        self.below.is_empty() || self.below.iter().any(|prefix| path.starts_with(prefix))
    }

    fn is_excepted(&self, text: &str, found: &Range<usize>) -> bool {
        self.except.iter().any(|exception| {
            let first = found.end.saturating_sub(exception.len());
            (first..=found.start).any(|at| text.as_bytes()[at..].starts_with(exception.as_bytes()))
        })
    }
}

/// The range of `words` if `tokens` begin with them and only joints are between them.
fn matched(text: &str, tokens: &[Token], words: &[String]) -> Option<Range<usize>> {
    let tokens = tokens.get(..words.len())?;
    let same = tokens.iter().zip(words).all(|(token, word)| token.lower == *word);
    let joined = tokens.windows(2).all(|pair| {
        let between = &text[pair[0].range.end..pair[1].range.start];
        between.chars().all(|c| c.is_whitespace() || JOINTS.contains(&c))
    });
    (same && joined).then(|| tokens[0].range.start..tokens[words.len() - 1].range.end)
}

/// Splits text into words, and identifiers at underscores, digits and humps: `HttpVUs2` is `http`, `v`, `us`.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut start = None;
    let mut previous = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map_or(' ', |&(_, next)| next);
        let is_hump =
            c.is_uppercase() && (previous.is_lowercase() || (previous.is_uppercase() && next.is_lowercase()));
        if is_hump || !c.is_alphabetic() {
            tokens.extend(start.take().map(|start: usize| token(text, start..at)));
        }
        if c.is_alphabetic() && start.is_none() {
            start = Some(at);
        }
        previous = c;
    }
    tokens.extend(start.map(|start| token(text, start..text.len())));
    tokens
}

fn token(text: &str, range: Range<usize>) -> Token {
    Token { lower: text[range.clone()].to_lowercase(), range }
}

fn on_one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '/' || c == '!');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    const SMALL: &str = "# a comment\n\nfoo, foos | bar\nleft over | kept | crates/wire/\nbaz | qux | | SO_BAZ, set_baz\n\
                         type Thing | say which: WireThing\n";

    fn check_one(path: &str, text: &str, expect: &str) {
        assert_eq!(printed(&check_against(&Tree::of(&[(path, text)]), SMALL)), expect, "of {path}: {text}");
    }

    #[test]
    fn a_word_counts_alone_and_as_a_part_of_an_identifier() {
        check_one(
            "docs/a.md",
            "no food\nFoo, `my_foos` and `HTTPFoo2`\n",
            "docs/a.md:2: `Foo` is retired; write: bar\n\
             docs/a.md:2: `foos` is retired; write: bar\n\
             docs/a.md:2: `Foo` is retired; write: bar\n",
        );
        check_one(
            "crates/wire/src/a.rs",
            "fn foo_of() {} // \"FOO\"\n",
            "crates/wire/src/a.rs:1: `foo` is retired; \
                   write: bar\ncrates/wire/src/a.rs:1: `FOO` is retired; write: bar\n",
        );
    }

    #[test]
    fn only_texts_of_known_kinds_are_read_and_every_file_name() {
        check_one("crates/wire/src/a.json", "foo", "");
        check_one("docs/style.md", "foo", "");
        check_one(LIST_PATH, "foo", "");
        check_one(
            "crates/wire/tests/foo.bin",
            "foo",
            "crates/wire/tests/foo.bin:1: `foo` in the file's name is retired; write: bar\n",
        );
    }

    #[test]
    fn a_phrase_counts_over_line_ends_and_joined() {
        check_one(
            "crates/wire/src/a.rs",
            "/// It is left\n    /// over. Left. Over\nfn left_over() { LeftOver }\n",
            "crates/wire/src/a.rs:1: `left over` is retired; write: kept\n\
             crates/wire/src/a.rs:3: `left_over` is retired; write: kept\n\
             crates/wire/src/a.rs:3: `LeftOver` is retired; write: kept\n",
        );
        check_one("crates/engine/src/a.rs", "// left over\n", "");
    }

    #[test]
    fn exceptions_are_texts_around_the_word() {
        check_one("docs/a.md", "SO_BAZ and set_baz(1)", "");
        check_one("docs/a.md", "BAZ_SO", "docs/a.md:1: `BAZ` is retired; write: qux\n");
    }

    #[test]
    fn a_type_needs_a_name_that_says_which() {
        check_one(
            "crates/wire/src/a.rs",
            "// struct Thing\nstruct ThingName;\nenum Thing {}\ntype Thing<'a> = &'a str;\n",
            "crates/wire/src/a.rs:3: a type named just `Thing`; say which: WireThing\n\
             crates/wire/src/a.rs:4: a type named just `Thing`; say which: WireThing\n",
        );
    }

    #[test]
    fn a_broken_line_of_the_list_is_named() {
        for broken in ["foo | bar\nfoo\n", "# x\nfoo |\n", "foo | bar\n | bar\n", "\na | b | c | d | e\n"] {
            assert_eq!(
                printed(&check_against(&Tree::of(&[]), broken)),
                "chores/retired-words.txt:2: this line is no entry; write `FORMS | INSTEAD | PATHS | EXCEPTIONS`; the \
                 last two may be left out\n"
            );
        }
    }

    #[test]
    fn the_list_is_read_and_names_the_term_to_write() {
        let tree = Tree::of(&[("docs/a.md", concat!("what the cr", "ew did\n"))]);
        assert_eq!(
            printed(&check(&tree)),
            concat!("docs/a.md:1: `cr", "ew` is retired; write: the scenario's VUs\n")
        );
    }
}
