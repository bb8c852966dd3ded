//! JUnit XML, as CI systems read it: one suite of cases (<https://github.com/testmoapp/junitxml>).

use std::fmt::{self, Display, Write as _};
use std::time::Duration;

use evidence::{Verdict, visible};

/// What JUnit makes of INCONCLUSIVE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Undecided {
    /// An error, which fails a CI job.
    #[default]
    Error,
    /// A test that was skipped, which does not.
    Skipped,
}

/// What one report says, as a suite of tests.
pub(crate) struct TestSuite {
    pub(crate) name: String,
    pub(crate) time: Option<Duration>,
    pub(crate) properties: Vec<(&'static str, String)>,
    pub(crate) cases: Vec<TestCase>,
}

pub(crate) struct TestCase {
    pub(crate) name: String,
    /// Why it did not pass.
    pub(crate) mishap: Option<Mishap>,
    pub(crate) output: Option<String>,
}

/// Why a test did not pass.
pub(crate) struct Mishap {
    element: &'static str,
    kind: String,
    message: String,
    description: String,
}

impl Mishap {
    /// That of a verdict, which is shown as `kind`, with its message and its lines. FAIL is a `failure`; INVALID and
    /// INCONCLUSIVE are an `error`: the test has no result. None of a verdict that fails nothing.
    pub(crate) fn of(
        verdict: Verdict,
        undecided: Undecided,
        kind: &str,
        (message, lines): (&str, &[String]),
    ) -> Option<Mishap> {
        let element = match verdict {
            Verdict::Pass | Verdict::Measured => return None,
            Verdict::Fail => "failure",
            Verdict::Inconclusive if undecided == Undecided::Skipped => "skipped",
            Verdict::Inconclusive | Verdict::Invalid => "error",
        };
        let lines: Vec<_> = lines.iter().map(|line| visible(line)).collect();
        let message = visible(message).into_owned();
        // Some CI systems show the text of the element alone.
        let description = if lines.is_empty() { message.clone() } else { lines.join("\n") };
        Some(Mishap { element, kind: kind.to_owned(), message, description })
    }
}

impl TestSuite {
    /// The document.
    pub(crate) fn xml(&self) -> String {
        let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        self.write(&mut xml).expect("writing to memory cannot fail");
        xml
    }

    fn write(&self, xml: &mut String) -> fmt::Result {
        let count = |element| {
            let of_kind = |case: &&TestCase| case.mishap.as_ref().is_some_and(|it| it.element == element);
            self.cases.iter().filter(of_kind).count()
        };
        let (tests, skipped) = (self.cases.len(), count("skipped"));
        let (failures, errors) = (count("failure"), count("error"));
        let time = self.time.map(|time| format!(" time=\"{:.3}\"", time.as_secs_f64())).unwrap_or_default();
        writeln!(
            xml,
            "<testsuites name=\"plimsoll\" tests=\"{tests}\" skipped=\"{skipped}\" failures=\"{failures}\" errors=\"{errors}\"{time}>"
        )?;
        writeln!(
            xml,
            "    <testsuite name=\"{}\" tests=\"{tests}\" skipped=\"{skipped}\" errors=\"{errors}\" failures=\"{failures}\"{time}>",
            Escaped(&self.name)
        )?;
        writeln!(xml, "        <properties>")?;
        for (name, value) in &self.properties {
            writeln!(xml, "            <property name=\"{name}\" value=\"{}\"/>", Escaped(value))?;
        }
        writeln!(xml, "        </properties>")?;
        for case in &self.cases {
            case.write(xml, &self.name)?;
        }
        writeln!(xml, "    </testsuite>\n</testsuites>")
    }
}

impl TestCase {
    /// The element that says why it did not pass.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        self.mishap.as_ref().map(|mishap| mishap.element)
    }

    /// Whether its text has this line.
    pub(crate) fn says(&self, line: &str) -> bool {
        self.mishap.as_ref().is_some_and(|mishap| mishap.description.lines().any(|own| own == visible(line)))
    }

    fn write(&self, xml: &mut String, class: &str) -> fmt::Result {
        let (name, class) = (Escaped(&self.name), Escaped(class));
        write!(xml, "        <testcase name=\"{name}\" classname=\"{class}\"")?;
        if self.mishap.is_none() && self.output.is_none() {
            return writeln!(xml, "/>");
        }
        writeln!(xml, ">")?;
        if let Some(Mishap { element, kind, message, description }) = &self.mishap {
            let (kind, message, text) = (Escaped(kind), Escaped(message), Escaped(description));
            writeln!(xml, "            <{element} message=\"{message}\" type=\"{kind}\">{text}</{element}>")?;
        }
        if let Some(output) = &self.output {
            writeln!(xml, "            <system-out>{}</system-out>", Escaped(output))?;
        }
        writeln!(xml, "        </testcase>")
    }
}

/// A text as XML has it, without the characters that XML 1.0 cannot have.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '\'' => f.write_str("&apos;")?,
                '"' => f.write_str("&quot;")?,
                '\t' | '\n' | '\r' => f.write_char(character)?,
                '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}
