//! CSS selectors as k6 understands them, which are those of the Go package `cascadia`: they have operators and pseudo-classes that
//! CSS has not, such as `[name!=x]` and `:contains(text)`, and match text where nothing says otherwise.

mod matching;
mod parsing;

use regex::Regex;

pub(crate) use matching::Matching;
pub(crate) use parsing::parse;

/// Alternatives, of which one must match.
#[derive(Debug)]
pub(crate) struct SelectorGroup(Vec<Selector>);

/// What a node must be, after what must be above or before it, each with the relation to the one that follows.
#[derive(Debug)]
struct Selector {
    before: Vec<(Compound, Combinator)>,
    subject: Compound,
}

#[derive(Debug, Clone, Copy)]
enum Combinator {
    Descendant,
    Child,
    NextSibling,
    LaterSibling,
}

/// What must all be so; of any element where there is nothing.
#[derive(Debug)]
struct Compound(Vec<Condition>);

#[derive(Debug)]
enum Condition {
    Tag(String),
    Id(String),
    Class(String),
    Attribute { name: String, test: AttributeTest },
    Not(SelectorGroup),
    Has(SelectorGroup),
    HasChild(SelectorGroup),
    Contains { text: String, of: TextOf },
    Matches { regex: Regex, of: TextOf },
    Nth { step: i64, offset: i64, from: End, among: Among },
    Only(Among),
    Input,
    Empty,
    Root,
    Link,
    Language(String),
    Enabled,
    Disabled,
    Checked,
    Never,
}

#[derive(Debug)]
enum AttributeTest {
    Exists,
    Matches(Regex),
    Compared { operator: Operator, value: String, case: Case },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equals,
    Differs,
    HasWord,
    HasPrefixOrIs,
    StartsWith,
    EndsWith,
    Contains,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Sensitive,
    Insensitive,
}

/// Whether the text of elements within counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextOf {
    Itself,
    AllWithin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// Among which siblings an element is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Among {
    All,
    SameName,
}
