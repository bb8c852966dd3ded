//! From text to selectors.

use regex::Regex;

use super::{
    Among, AttributeTest, Case, Combinator, Compound, Condition, End, Operator, Selector, SelectorGroup,
    TextOf,
};

/// How deep selectors are within others.
const DEEPEST: usize = 32;

/// The selectors that a text is; none where it is not one: in k6 that matches nothing.
pub(crate) fn parse(text: &str) -> Option<SelectorGroup> {
    let mut parser = Parser { rest: text, depth: 0 };
    let group = parser.group()?;
    parser.rest.is_empty().then_some(group)
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn takes(&mut self, expected: &str) -> bool {
        let stripped = self.rest.strip_prefix(expected);
        self.rest = stripped.unwrap_or(self.rest);
        stripped.is_some()
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, mut is_part: impl FnMut(char) -> bool) -> &'t str {
        let end = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Skip white space and comments; whether there were any.
    fn skip_space(&mut self) -> bool {
        let before = self.rest.len();
        loop {
            self.take_while(is_space);
            match self.rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
                Some((_, rest)) => self.rest = rest,
                None => return self.rest.len() < before,
            }
        }
    }

    fn group(&mut self) -> Option<SelectorGroup> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut selectors = vec![self.selector()?];
        while self.takes(",") {
            selectors.push(self.selector()?);
        }
        self.depth -= 1;
        Some(SelectorGroup(selectors))
    }

    fn selector(&mut self) -> Option<Selector> {
        self.skip_space();
        let mut subject = self.compound()?;
        let mut before = Vec::new();
        loop {
            let is_spaced = self.skip_space();
            let combinator = match self.peek() {
                Some('+') => Combinator::NextSibling,
                Some('>') => Combinator::Child,
                Some('~') => Combinator::LaterSibling,
                None | Some(',' | ')') => break,
                Some(_) if is_spaced => Combinator::Descendant,
                Some(_) => break,
            };
            if !matches!(combinator, Combinator::Descendant) {
                self.take(1);
                self.skip_space();
            }
            let next = self.compound()?;
            before.push((std::mem::replace(&mut subject, next), combinator));
        }
        Some(Selector { before, subject })
    }

    fn compound(&mut self) -> Option<Compound> {
        let mut conditions = Vec::new();
        match self.peek()? {
            '*' => {
                self.take(1);
                if self.rest.len() > 2 {
                    self.takes("|*");
                }
            }
            '#' | '.' | '[' | ':' => {}
            _ => conditions.push(Condition::Tag(self.identifier()?.to_ascii_lowercase())),
        }
        loop {
            conditions.push(match self.peek() {
                Some('#') => {
                    self.take(1);
                    Condition::Id(self.name()?)
                }
                Some('.') => {
                    self.take(1);
                    Condition::Class(self.identifier()?)
                }
                Some('[') => self.attribute()?,
                Some(':') => self.pseudo_class()?,
                _ => return Some(Compound(conditions)),
            });
        }
    }

    fn attribute(&mut self) -> Option<Condition> {
        self.take(1);
        self.skip_space();
        let name = self.identifier()?.to_ascii_lowercase();
        self.skip_space();
        if self.takes("]") {
            return Some(Condition::Attribute { name, test: AttributeTest::Exists });
        }
        let operators = [
            ("=", Some(Operator::Equals)),
            ("!=", Some(Operator::Differs)),
            ("~=", Some(Operator::HasWord)),
            ("|=", Some(Operator::HasPrefixOrIs)),
            ("^=", Some(Operator::StartsWith)),
            ("$=", Some(Operator::EndsWith)),
            ("*=", Some(Operator::Contains)),
            ("#=", None),
        ];
        let (_, operator) = operators.into_iter().find(|(sign, _)| self.takes(sign))?;
        self.skip_space();
        let Some(operator) = operator else {
            let test = AttributeTest::Matches(self.regex()?);
            self.attribute_end()?;
            return Some(Condition::Attribute { name, test });
        };
        let value = self.identifier_or_string()?;
        let case = self.attribute_end()?;
        Some(Condition::Attribute { name, test: AttributeTest::Compared { operator, value, case } })
    }

    fn attribute_end(&mut self) -> Option<Case> {
        self.skip_space();
        let case = if self.takes("i") || self.takes("I") { Case::Insensitive } else { Case::Sensitive };
        self.skip_space();
        self.takes("]").then_some(case)
    }

    fn pseudo_class(&mut self) -> Option<Condition> {
        self.take(1);
        let name = self.identifier()?.to_ascii_lowercase();
        let nth = |offset, from, among| Condition::Nth { step: 0, offset, from, among };
        Some(match name.as_str() {
            "not" => Condition::Not(self.within_parentheses(Self::group)?),
            "has" => Condition::Has(self.within_parentheses(Self::group)?),
            "haschild" => Condition::HasChild(self.within_parentheses(Self::group)?),
            "contains" | "containsown" => {
                let text = self.within_parentheses(Self::identifier_or_string)?.to_lowercase();
                Condition::Contains { text, of: text_of(&name) }
            }
            "matches" | "matchesown" => {
                Condition::Matches { regex: self.within_parentheses(Self::regex)?, of: text_of(&name) }
            }
            "nth-child" => self.nth(End::First, Among::All)?,
            "nth-last-child" => self.nth(End::Last, Among::All)?,
            "nth-of-type" => self.nth(End::First, Among::SameName)?,
            "nth-last-of-type" => self.nth(End::Last, Among::SameName)?,
            "first-child" => nth(1, End::First, Among::All),
            "last-child" => nth(1, End::Last, Among::All),
            "first-of-type" => nth(1, End::First, Among::SameName),
            "last-of-type" => nth(1, End::Last, Among::SameName),
            "only-child" => Condition::Only(Among::All),
            "only-of-type" => Condition::Only(Among::SameName),
            "input" => Condition::Input,
            "empty" => Condition::Empty,
            "root" => Condition::Root,
            "link" => Condition::Link,
            "lang" => Condition::Language(self.within_parentheses(Self::identifier)?.to_lowercase()),
            "enabled" => Condition::Enabled,
            "disabled" => Condition::Disabled,
            "checked" => Condition::Checked,
            "visited" | "hover" | "active" | "focus" | "target" => Condition::Never,
            // Parts of elements, such as `:before`, are refused as unknown names are.
            _ => return None,
        })
    }

    fn within_parentheses<T>(&mut self, parsed: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if !self.takes("(") {
            return None;
        }
        self.skip_space();
        let found = parsed(self)?;
        self.skip_space();
        self.takes(")").then_some(found)
    }

    /// `odd`, `even`, `b` or `an+b`.
    fn nth(&mut self, from: End, among: Among) -> Option<Condition> {
        let (step, offset) = self.within_parentheses(|parser| {
            if matches!(parser.peek()?, 'o' | 'O' | 'e' | 'E') {
                return match parser.name()?.to_ascii_lowercase().as_str() {
                    "odd" => Some((2, 1)),
                    "even" => Some((2, 0)),
                    _ => None,
                };
            }
            let sign = if parser.takes("-") { -1 } else { 1 };
            let _ = sign == 1 && parser.takes("+");
            let number = parser.integer();
            if !(parser.takes("n") || parser.takes("N")) {
                return Some((0, sign * number?));
            }
            let step = sign * number.unwrap_or(1);
            parser.skip_space();
            let sign = match parser.peek()? {
                '+' => 1,
                '-' => -1,
                _ => return Some((step, 0)),
            };
            parser.take(1);
            parser.skip_space();
            Some((step, sign * parser.integer()?))
        })?;
        Some(Condition::Nth { step, offset, from, among })
    }

    fn integer(&mut self) -> Option<i64> {
        self.take_while(|character| character.is_ascii_digit()).parse().ok()
    }

    /// A regular expression, up to the bracket that it does not open.
    fn regex(&mut self) -> Option<Regex> {
        let mut open = 0_usize;
        let text = self.take_while(|character| match character {
            '(' | '[' => {
                open += 1;
                true
            }
            ')' | ']' if open == 0 => false,
            ')' | ']' => {
                open -= 1;
                true
            }
            _ => true,
        });
        if self.rest.is_empty() { None } else { Regex::new(text).ok() }
    }

    fn identifier_or_string(&mut self) -> Option<String> {
        match self.peek()? {
            quote @ ('"' | '\'') => self.string(quote),
            _ => self.identifier(),
        }
    }

    fn identifier(&mut self) -> Option<String> {
        let hyphens = self.take_while(|character| character == '-');
        let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii() || c == '\\';
        if !is_start(self.peek()?) {
            return None;
        }
        Some(format!("{hyphens}{}", self.name()?))
    }

    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || !c.is_ascii();
            name.push_str(self.take_while(part));
            if self.peek() != Some('\\') {
                return if name.is_empty() { None } else { Some(name) };
            }
            name.push_str(&self.escape()?);
        }
    }

    fn string(&mut self, quote: char) -> Option<String> {
        self.take(1);
        let mut text = String::new();
        loop {
            let is_plain = |c: char| c != quote && !matches!(c, '\\' | '\r' | '\n' | '\x0c');
            text.push_str(self.take_while(is_plain));
            match self.peek()? {
                // A line break after it is left out.
                '\\' if ["\\\r\n", "\\\r", "\\\n", "\\\x0c"]
                    .iter()
                    .any(|line_break| self.takes(line_break)) => {}
                '\\' => text.push_str(&self.escape()?),
                ending if ending == quote => {
                    self.take(1);
                    return Some(text);
                }
                _ => return None,
            }
        }
    }

    /// What follows a `\`: a character, or its number in hexadecimal digits.
    fn escape(&mut self) -> Option<String> {
        self.take(1);
        let mut count = 0;
        let digits = self.take_while(|character| {
            count += 1;
            count <= 6 && character.is_ascii_hexdigit()
        });
        if !digits.is_empty() {
            if !self.takes("\r\n") && self.peek().is_some_and(is_space) {
                self.take(1);
            }
            let number = u32::from_str_radix(digits, 16).ok()?;
            return Some(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER).to_string());
        }
        match self.peek()? {
            '\r' | '\n' | '\x0c' => None,
            character => Some(self.take(character.len_utf8()).to_owned()),
        }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '\x0c')
}

fn text_of(name: &str) -> TextOf {
    if name.ends_with("own") { TextOf::Itself } else { TextOf::AllWithin }
}
