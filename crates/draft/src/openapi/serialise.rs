//! Parameters as the specification serialises them: the tables "Style Values" and "Style Examples" of OpenAPI 3.0.4 and
//! 3.1.1, which follow RFC 6570.

use serde_json::Value;

use crate::json::Json;
use crate::text::Text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Matrix,
    Label,
    Simple,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// How the characters of values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Characters {
    /// Percent-encoded but for the unreserved ones of RFC 3986.
    Encoded,
    /// The reserved ones stay too, but for `#`, which would end the URL.
    Reserved,
    /// As they are: in headers.
    Plain,
}

/// How one parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Serialisation {
    pub(super) style: Style,
    pub(super) explode: bool,
    pub(super) characters: Characters,
}

/// The reserved characters of RFC 3986, section 2.2, without `#`.
const RESERVED: [char; 17] =
    [':', '/', '?', '[', ']', '@', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '='];

/// Why a value has no serialisation.
type Undefined = String;

impl Style {
    pub(super) fn parse(name: &str) -> Option<Style> {
        Some(match name {
            "matrix" => Style::Matrix,
            "label" => Style::Label,
            "simple" => Style::Simple,
            "form" => Style::Form,
            "spaceDelimited" => Style::SpaceDelimited,
            "pipeDelimited" => Style::PipeDelimited,
            "deepObject" => Style::DeepObject,
            _ => return None,
        })
    }
}

impl Characters {
    pub(super) fn write(self, text: &Text) -> Text {
        match self {
            Characters::Encoded => text.in_url(),
            Characters::Reserved => text.in_url_except(&RESERVED),
            Characters::Plain => text.clone(),
        }
    }
}

/// A value whose parts are written, but not yet joined.
enum Written {
    One(Text),
    List(Vec<Text>),
    Fields(Vec<(Text, Text)>),
}

impl Serialisation {
    /// The parameter as it is sent in a path, query, header or cookie: in a query with its name, without `?`. Empty where
    /// the parameter is left out.
    ///
    /// # Errors
    /// Why the specification does not define it.
    pub(super) fn write(self, name: &str, value: &Json) -> Result<Text, Undefined> {
        let name = match self.characters {
            Characters::Plain => Text::literal(name),
            _ => Text::literal(name).in_url(),
        };
        let written = match self.style {
            Style::DeepObject => return self.deep_object(&name, value),
            _ => self.parts(value)?,
        };
        match self.style {
            Style::Matrix => Ok(self.matrix(&name, &written)),
            Style::Label => {
                Ok(Text::literal(".").then(&self.joined(&written, if self.explode { "." } else { "," })))
            }
            Style::Simple => Ok(self.joined(&written, ",")),
            Style::Form => Ok(self.form(&name, &written)),
            Style::SpaceDelimited => self.delimited(&name, &written, "%20"),
            Style::PipeDelimited => self.delimited(&name, &written, "%7C"),
            Style::DeepObject => Err("is not written in this way".to_owned()),
        }
    }

    fn parts(self, value: &Json) -> Result<Written, Undefined> {
        let one = |value: &Json| {
            match value {
            Json::Plain(_) | Json::Text(_) => Ok(self.characters.write(&value.plain())),
            _ => Err("has lists or objects within a list or an object: the specification does not say how they are \
                      written"
                .to_owned()),
        }
        };
        Ok(match value {
            Json::List(items) => Written::List(items.iter().map(one).collect::<Result<_, _>>()?),
            Json::Object(fields) => Written::Fields(
                fields
                    .iter()
                    .map(|(name, value)| Ok((self.characters.write(&Text::literal(name)), one(value)?)))
                    .collect::<Result<_, Undefined>>()?,
            ),
            value => Written::One(one(value)?),
        })
    }

    /// Values, and names with values, between separators.
    fn joined(self, written: &Written, separator: &str) -> Text {
        match written {
            Written::One(value) => value.clone(),
            Written::List(items) => Text::joined(items, separator),
            Written::Fields(fields) => {
                let between = if self.explode { "=" } else { separator };
                let pair = |(name, value): &(Text, Text)| name.clone().and(between).then(value);
                Text::joined(&fields.iter().map(pair).collect::<Vec<_>>(), separator)
            }
        }
    }

    fn matrix(self, name: &Text, written: &Written) -> Text {
        let named = |value: &Text| match value.is_empty() {
            true => Text::literal(";").then(name),
            false => Text::literal(";").then(name).and("=").then(value),
        };
        match written {
            Written::List(items) if self.explode => {
                Text::joined(&items.iter().map(named).collect::<Vec<_>>(), "")
            }
            Written::Fields(_) if self.explode => Text::literal(";").then(&self.joined(written, ";")),
            _ => named(&self.joined(written, ",")),
        }
    }

    fn form(self, name: &Text, written: &Written) -> Text {
        let named = |value: &Text| name.clone().and("=").then(value);
        match written {
            Written::List(items) if self.explode => {
                Text::joined(&items.iter().map(named).collect::<Vec<_>>(), "&")
            }
            Written::Fields(_) if self.explode => self.joined(written, "&"),
            _ => named(&self.joined(written, ",")),
        }
    }

    fn delimited(self, name: &Text, written: &Written, delimiter: &str) -> Result<Text, Undefined> {
        match written {
            // One value needs no delimiter.
            Written::One(_) => Ok(self.form(name, written)),
            _ if self.explode => {
                Err("is exploded in a delimited style: the specification does not define that".to_owned())
            }
            _ => Ok(name.clone().and("=").then(&self.joined(written, delimiter))),
        }
    }

    /// `name[field]=value`. Its brackets are percent-encoded, as no query contains them.
    fn deep_object(self, name: &Text, value: &Json) -> Result<Text, Undefined> {
        let Json::Object(fields) = value else {
            return Err("has the style `deepObject`, and its value is not an object".to_owned());
        };
        let pair = |(field, value): &(String, Json)| {
            match value {
            Json::Plain(_) | Json::Text(_) => {
                let field = Text::literal(field).in_url();
                let value = self.characters.write(&value.plain());
                Ok(name.clone().and("%5B").then(&field).and("%5D=").then(&value))
            }
            _ => Err("has lists or objects within an object of the style `deepObject`, which the specification does not \
                      define"
                .to_owned()),
        }
        };
        Ok(Text::joined(&fields.iter().map(pair).collect::<Result<Vec<_>, Undefined>>()?, "&"))
    }
}

/// Whether a value is sent without any character: `null`, an empty text.
pub(super) fn is_blank(value: &Json) -> bool {
    matches!(value, Json::Plain(Value::Null)) || matches!(value, Json::List(items) if items.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The table "Style Examples" of OpenAPI 3.0.4 (4.7.12.4) and 3.1.1 (4.8.12.4): style, explode, then the values for
    /// empty, string, array and object. `n/a` as there.
    const TABLE: &str = "\
matrix false ;color ;color=blue ;color=blue,black,brown ;color=R,100,G,200,B,150
matrix true ;color ;color=blue ;color=blue;color=black;color=brown ;R=100;G=200;B=150
label false . .blue .blue,black,brown .R,100,G,200,B,150
label true . .blue .blue.black.brown .R=100.G=200.B=150
simple false empty blue blue,black,brown R,100,G,200,B,150
simple true empty blue blue,black,brown R=100,G=200,B=150
form false color= color=blue color=blue,black,brown color=R,100,G,200,B,150
form true color= color=blue color=blue&color=black&color=brown R=100&G=200&B=150
spaceDelimited false n/a n/a color=blue%20black%20brown color=R%20100%20G%20200%20B%20150
spaceDelimited true n/a n/a n/a n/a
pipeDelimited false n/a n/a color=blue%7Cblack%7Cbrown color=R%7C100%7CG%7C200%7CB%7C150
pipeDelimited true n/a n/a n/a n/a
deepObject true n/a n/a n/a color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150";

    fn written(
        style: &str,
        explode: bool,
        characters: Characters,
        value: &Json,
    ) -> Result<String, Undefined> {
        let style = Style::parse(style).unwrap();
        Serialisation { style, explode, characters }.write("color", value).map(|text| text.source())
    }

    #[test]
    fn every_row_of_the_specifications_table_is_written_as_it_is_there() {
        let colours = [("R", 100), ("G", 200), ("B", 150)];
        let object = colours.map(|(name, value)| (name.to_owned(), Json::Plain(value.into())));
        let values = [
            Json::text(""),
            Json::text("blue"),
            Json::literal(&json!(["blue", "black", "brown"])),
            Json::Object(object.to_vec()),
        ];
        let mut compared = 0;
        for row in TABLE.lines() {
            let columns: Vec<&str> = row.split(' ').collect();
            let explode = columns[1] == "true";
            for (value, expected) in values.iter().zip(&columns[2..]) {
                let result = written(columns[0], explode, Characters::Encoded, value);
                match (*expected, value) {
                    // What the table does not define is refused, but for a single value, which needs no delimiter.
                    ("n/a", Json::Text(_)) => {}
                    ("n/a", _) => assert!(result.is_err(), "{row}: {result:?}"),
                    (expected, _) => {
                        let expected = if expected == "empty" { "" } else { expected };
                        assert_eq!(result.as_deref(), Ok(expected), "{row}");
                    }
                }
                compared += 1;
            }
        }
        assert_eq!(compared, 52);
    }

    #[test]
    fn delimiters_within_values_are_encoded_unless_reserved_characters_are_allowed() {
        let value = Json::literal(&json!(["a,b", "c&d=#", "ä/"]));
        let write = |characters| written("form", false, characters, &value).unwrap();
        assert_eq!(write(Characters::Encoded), "color=a%2Cb,c%26d%3D%23,%C3%A4%2F");
        assert_eq!(write(Characters::Reserved), "color=a,b,c&d=%23,%C3%A4/");
        assert_eq!(write(Characters::Plain), "color=a,b,c&d=#,ä/");
    }
}
