//! Where the lines of a script's log go, and in which form: `--log-output`, `--log-format` and `--console-output`, as in k6.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, LineWriter, Write as _};
use std::path::Path;

use conduct::failure::CommandResult;
use conduct::{clock, screen, standard_output};
use evidence::TerminalText;
use k6::{Level, LogLine};

use super::command_line::refused;
use super::log_line::printed;
use crate::arguments::LogArguments;

/// The field of lines that the script itself prints.
const SOURCE: (&str, &str) = ("source", "console");

/// Where lines go.
pub(super) struct LogOutput {
    place: Place,
    form: Form,
    /// Lines of `console`, where they go elsewhere.
    console: Option<LineWriter<File>>,
    /// The first line that could not be written.
    failed: Option<io::Error>,
}

enum Place {
    Stderr,
    Stdout,
    Nowhere,
    File { file: LineWriter<File>, least: Level },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    /// The message alone.
    Raw,
}

impl LogOutput {
    /// Standard error, as text.
    pub(super) fn to_stderr() -> LogOutput {
        LogOutput { place: Place::Stderr, form: Form::Text, console: None, failed: None }
    }

    /// What these arguments ask for; files are opened, and what is in them stays.
    ///
    /// # Errors
    /// A place or a format that k6 does not have, or a file that cannot be written.
    pub(super) fn of(arguments: &LogArguments) -> CommandResult<LogOutput> {
        let form = match arguments.log_format.as_deref() {
            None | Some("text" | "logfmt" | "") => Form::Text,
            Some("json") => Form::Json,
            Some("raw") => Form::Raw,
            Some(other) => {
                return Err(refused(format_args!(
                    "there is no log format `{other}`: write text, json or raw"
                )));
            }
        };
        let place = match arguments.log_output.as_deref() {
            None | Some("stderr" | "") => Place::Stderr,
            Some("stdout") => Place::Stdout,
            Some("none") => Place::Nowhere,
            Some(other) => match other.strip_prefix("file=") {
                Some(rest) => log_file(rest)?,
                None => {
                    return Err(refused(format_args!(
                        "there is no log output `{other}`: write stderr, stdout, none or file=PATH"
                    )));
                }
            },
        };
        let console = arguments.console_output.as_deref().map(appended).transpose()?;
        Ok(LogOutput { place, form, console, failed: None })
    }

    /// Write a line. What cannot be written is left out, and said at the end.
    pub(super) fn write(&mut self, line: &LogLine) {
        let is_own = line.fields.iter().any(|(name, value)| (*name, value.as_str()) == SOURCE);
        let form = self.form;
        let written = match (&mut self.console, &mut self.place) {
            (Some(console), _) if is_own => {
                let fields = line.fields.iter().filter(|(name, _)| *name != SOURCE.0).cloned().collect();
                writeln!(console, "{}", in_file(form, &LogLine { fields, ..line.clone() }))
            }
            (_, Place::Nowhere) => Ok(()),
            (_, Place::File { least, .. }) if rank(line.level) < rank(*least) => Ok(()),
            (_, Place::File { file, .. }) => writeln!(file, "{}", in_file(form, line)),
            // That a stream was closed is not a failure.
            (_, Place::Stderr) => return drop(screen::print(&on_stream(form, line))),
            (_, Place::Stdout) => return drop(standard_output::print(&on_stream(form, line))),
        };
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    /// Say what could not be written.
    pub(super) fn end(self) {
        if let Some(error) = self.failed {
            screen::note(format_args!("lines of the script's log could not be written: {error}"));
        }
    }
}

/// `PATH` or `PATH,level=error`.
fn log_file(text: &str) -> CommandResult<Place> {
    let mut parts = text.split(',');
    let path = parts.next().unwrap_or_default();
    let mut least = Level::Debug;
    for part in parts {
        least = match part.split_once('=') {
            Some(("level", name)) => level(name).ok_or_else(|| {
                refused(format_args!("there is no level `{name}`: write debug, info, warning or error"))
            })?,
            _ => return Err(refused(format_args!("--log-output file=PATH takes level=NAME, not `{part}`"))),
        };
    }
    Ok(Place::File { file: appended(path)?, least })
}

fn appended(path: &str) -> CommandResult<LineWriter<File>> {
    let file = OpenOptions::new().append(true).create(true).open(Path::new(path));
    Ok(LineWriter::new(file.map_err(|error| refused(format_args!("cannot write {path}: {error}")))?))
}

fn level(name: &str) -> Option<Level> {
    match name {
        "trace" | "debug" => Some(Level::Debug),
        "info" => Some(Level::Info),
        "warn" | "warning" => Some(Level::Warning),
        "error" | "fatal" | "panic" => Some(Level::Error),
        _ => None,
    }
}

fn rank(level: Level) -> u8 {
    match level {
        Level::Debug => 0,
        Level::Info => 1,
        Level::Warning => 2,
        Level::Error => 3,
    }
}

fn name(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

fn on_stream(form: Form, line: &LogLine) -> TerminalText {
    match form {
        Form::Text => printed(line),
        Form::Json | Form::Raw => {
            let mut text = TerminalText::default();
            for part in in_file(form, line).lines() {
                text.quote("", part);
            }
            text
        }
    }
}

/// A line as k6 writes it to a file.
fn in_file(form: Form, line: &LogLine) -> String {
    let time = clock::rfc3339(clock::now());
    // To the second, as k6 has it.
    let time = time.split('.').next().unwrap_or_default().to_owned() + "Z";
    in_file_at(&time, form, line)
}

fn in_file_at(time: &str, form: Form, line: &LogLine) -> String {
    let LogLine { level, text, fields } = line;
    match form {
        Form::Raw => text.clone(),
        Form::Json => {
            let mut all: BTreeMap<&str, &str> =
                fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            all.extend([("level", name(*level)), ("msg", text), ("time", time)]);
            let json = serde_json::to_string(&all).unwrap_or_default();
            // Go's encoder writes these so that HTML can hold them.
            json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
        }
        Form::Text => {
            let fields: String =
                fields.iter().map(|(name, value)| format!(" {name}={}", plain(value))).collect();
            format!("time={} level={} msg={}{fields}", plain(time), name(*level), plain(text))
        }
    }
}

/// A value of logfmt: in quotes unless it consists of letters, digits and a few signs.
fn plain(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/@^+".contains(&byte));
    if is_plain { value.to_owned() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "2026-11-30T15:48:56Z";

    fn console(level: Level, text: &str) -> LogLine {
        LogLine { level, text: text.to_owned(), fields: vec![("source", "console".to_owned())] }
    }

    fn refusal() -> LogLine {
        let error = r#"Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused"#;
        LogLine {
            level: Level::Warning,
            text: "Request Failed".to_owned(),
            fields: vec![("error", error.to_owned())],
        }
    }

    /// Recorded from k6 1.8.1, `--log-output=file=l.txt`.
    #[test]
    fn lines_of_a_file_are_those_of_k6() {
        let text = |line| in_file_at(TIME, Form::Text, &line);
        assert_eq!(
            text(console(Level::Info, "hello \"x\" a=b")),
            r#"time="2026-11-30T15:48:56Z" level=info msg="hello \"x\" a=b" source=console"#
        );
        assert_eq!(
            text(console(Level::Warning, "w\nline2")),
            r#"time="2026-11-30T15:48:56Z" level=warning msg="w\nline2" source=console"#
        );
        assert_eq!(
            text(refusal()),
            r#"time="2026-11-30T15:48:56Z" level=warning msg="Request Failed" error="Get \"http://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused""#
        );
        assert_eq!(
            text(console(Level::Info, "plain")),
            r#"time="2026-11-30T15:48:56Z" level=info msg=plain source=console"#
        );
    }

    /// Recorded from k6 1.8.1, `--log-format=json` and `raw`.
    #[test]
    fn lines_of_json_and_raw_are_those_of_k6() {
        assert_eq!(
            in_file_at(TIME, Form::Json, &console(Level::Info, "hello \"x\" a=b")),
            r#"{"level":"info","msg":"hello \"x\" a=b","source":"console","time":"2026-11-30T15:48:56Z"}"#
        );
        assert_eq!(in_file_at(TIME, Form::Raw, &console(Level::Info, "w\nline2")), "w\nline2");
    }
}
