//! `plimsoll new`: writes a plan to begin with.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use draft::{Draft, DraftError, OpenApiOptions, Selection, SourceKind};
use evidence::{TerminalText, visible};
use plans::{Overrides, load};
use workload::Files;

use crate::arguments::NewArguments;
use crate::failure::{CommandResult, Failure};
use crate::plan::Disk;
use crate::{outputs, screen};

pub(crate) fn new(arguments: &NewArguments) -> CommandResult<u8> {
    let is_stdout = arguments.output == Path::new("-");
    if !is_stdout && !arguments.force && arguments.output.exists() {
        return Err(exists(&arguments.output));
    }
    let draft = drafted(arguments)?;
    verify(&draft.text)?;
    if is_stdout {
        screen::write_document(&draft.text).map_err(Failure::own)?;
    } else {
        write(&arguments.output, arguments.force, &draft.text)?;
        outputs::print(&what_next(&draft, &arguments.output))?;
    }
    draft.notes.iter().for_each(|note| outputs::note(format_args!("plimsoll: note: {}", visible(note))));
    Ok(0)
}

fn exists(path: &Path) -> Failure {
    Failure::usage(anyhow!(
        "{} is there already: name another file with -o, or replace it with --force",
        path.display()
    ))
}

fn drafted(arguments: &NewArguments) -> CommandResult<Draft> {
    let selection = if arguments.all { Selection::All } else { Selection::Safe };
    let refused = |error: DraftError| Failure::usage(error);
    let (first, more) =
        arguments.source.split_first().map_or(("", &[][..]), |(first, more)| (first.as_str(), more));
    if first == "curl" {
        return draft::of_curl_words(&arguments.source, &Disk).map_err(refused);
    }
    if let Some(surplus) = more.first() {
        return Err(Failure::usage(anyhow!("a plan is made of one source, and `{surplus}` is a second one")));
    }
    if first.starts_with("curl ") {
        return draft::of_curl("the curl command", first, &Disk).map_err(refused);
    }
    if is_address(first) {
        return draft::of_url(first).map_err(refused).inspect(|_| {
            if first.ends_with(".json") || first.ends_with(".yaml") || first.ends_with(".yml") {
                outputs::note(format_args!(
                    "plimsoll: note: this is a plan of that URL; for one of the API that it describes, save it as a file \
                     first"
                ));
            }
        });
    }
    let (name, text) = read(first)?;
    match draft::recognise(&name, &text).map_err(refused)? {
        SourceKind::Curl => draft::of_curl(&name, &text, &Disk),
        SourceKind::Har(value) => draft::of_har(&name, &value, selection),
        SourceKind::OpenApi(value) => {
            let options = OpenApiOptions { server: arguments.server.clone(), selection };
            draft::of_openapi(&name, &value, &options)
        }
    }
    .map_err(refused)
}

/// Whether the source is an address and no file: `host:port` too, unless there is such a file.
fn is_address(source: &str) -> bool {
    source.contains("://") || (source != "-" && source.contains(':') && !Path::new(source).exists())
}

/// The name of the source and its text.
fn read(source: &str) -> CommandResult<(String, String)> {
    let most = draft::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let (name, read) = match source {
        "-" => ("standard input", io::stdin().lock().take(most).read_to_end(&mut bytes)),
        path => (path, File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))),
    };
    let name = name.to_owned();
    read.with_context(|| {
        format!(
            "{name} cannot be read; a source is a URL, an OpenAPI description, a HAR file or a curl command"
        )
    })
    .map_err(Failure::usage)?;
    if bytes.len() > draft::MAX_BYTES {
        return Err(Failure::usage(anyhow!("{name} is larger than {} bytes", draft::MAX_BYTES)));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Failure::usage(anyhow!("{name} is not UTF-8, from byte {} on", error.utf8_error().valid_up_to()))
    })?;
    Ok((name, text))
}

/// The draft, and nothing else.
struct Drafted<'a>(&'a str);

impl Files for Drafted<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new(PLAN) { Ok(self.0.as_bytes().to_vec()) } else { Disk.read(path) }
    }
}

/// The name of a draft that has not been written yet.
const PLAN: &str = "the drafted plan";

/// Check that the draft can be used, whatever the source has made of it. Its variables need not be set yet.
fn verify(text: &str) -> CommandResult<()> {
    let any_value = |_: &str| Some("value".to_owned());
    load(Path::new(PLAN), &Drafted(text), &any_value, &Overrides::default())
        .context("no plan can be made of this source")
        .map_err(Failure::usage)?;
    Ok(())
}

fn write(path: &Path, force: bool, text: &str) -> CommandResult<()> {
    let mut options = OpenOptions::new();
    match force {
        true => options.write(true).create(true).truncate(true),
        // A file that came meanwhile is not replaced either.
        false => options.write(true).create_new(true),
    };
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        other => {
            other.with_context(|| format!("{} cannot be written", path.display())).map_err(Failure::usage)
        }
    }
}

/// What was written, and the commands that follow.
fn what_next(draft: &Draft, path: &Path) -> TerminalText {
    let mut text = TerminalText::default();
    let path = path.display().to_string();
    let path = visible(&path);
    let steps = if draft.steps == 1 { "step" } else { "steps" };
    let commented = match draft.commented {
        0 => String::new(),
        commented => format!(", and {commented} more as comments"),
    };
    text.line(format_args!("{path}: {} {steps}{commented}", draft.steps)).line("");
    for variable in &draft.variables {
        text.line(format_args!("  export {}=…    {}", variable.name, visible(&variable.meaning)));
    }
    text.line(format_args!("  plimsoll check {path}         what it would offer; sends nothing"));
    text.line(format_args!("  plimsoll run {path} --once    each step once, every exchange shown"));
    text.line(format_args!("  plimsoll run {path}           the load, and a verdict"));
    text
}
