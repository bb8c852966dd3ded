//! The source that a plan is made of.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use anyhow::{Context, anyhow};
use conduct::confine::Reach;
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::plan::Disk;
use conduct::screen;
use draft::{Avoided, Draft, DraftError, OpenApiOptions, Selection, SourceKind};

use super::beneath::Beneath;
use crate::arguments::NewArguments;

/// Refuse arguments that name no source, before anything is said of the plan to write.
pub(super) fn check(arguments: &NewArguments) -> CommandResult<()> {
    let source = &arguments.source;
    let first = source.first().map_or("", String::as_str);
    if first == "curl" {
        return Ok(());
    }
    let is_plan = |word: &&String| word.ends_with(".toml");
    match &source[..] {
        [_, second, ..] => Err(Failure::usage(match source.iter().find(is_plan) {
            Some(plan) => {
                let other = source.iter().find(|word| *word != plan).unwrap_or(second);
                anyhow!("the plan to write is named by -o: `plimsoll new {other} -o {plan}`")
            }
            None => anyhow!("a plan is made of one source, and `{second}` is a second one"),
        })),
        _ if first == "-" || first.starts_with("curl ") || is_address(first) => Ok(()),
        _ => file_kind::refuse_others(
            Path::new(first),
            &[FileKind::OpenApi, FileKind::Recording, FileKind::CurlCommands],
        ),
    }
}

/// A draft of the source that the arguments name, which were checked, without the places of values in `avoided`.
pub(super) fn drafted(arguments: &NewArguments, avoided: &Avoided) -> CommandResult<Draft> {
    let refused = |error: DraftError| Failure::usage(error);
    let first = arguments.source.first().map_or("", String::as_str);
    if first == "curl" {
        return draft::of_curl_words(&arguments.source, &Disk).map_err(refused);
    }
    if first.starts_with("curl ") {
        return draft::of_curl("the curl command", first, &Disk).map_err(refused);
    }
    if is_address(first) {
        return draft::of_url(first).map_err(refused).inspect(|_| {
            if first.ends_with(".json") || first.ends_with(".yaml") || first.ends_with(".yml") {
                screen::note(format_args!(
                    "plimsoll: note: this is a plan of that URL; for one of the API that it describes, save it as a file \
                     first"
                ));
            }
        });
    }
    let (name, text) = read(first)?;
    let folder = Beneath::open(Path::new(if first == "-" { "." } else { first })).map_err(Failure::usage)?;
    let source = Source { name, text, folder, arguments, avoided };
    source.confined()
}

/// A file of others.
struct Source<'a> {
    name: String,
    text: String,
    /// The files that it may name.
    folder: Beneath,
    arguments: &'a NewArguments,
    avoided: &'a Avoided,
}

impl Source<'_> {
    /// A draft of it, made by a thread that can read no other files and reach no network.
    fn confined(&self) -> CommandResult<Draft> {
        let reach = match draft::is_curl(&self.text) {
            true => Reach::default().file(self.folder.path()),
            false => Reach::default(),
        };
        let made = thread::scope(|scope| {
            let thread = scope.spawn(move || {
                reach.confine();
                self.drafted()
            });
            thread.join()
        });
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(Failure::usage)
    }

    fn drafted(&self) -> Result<Draft, DraftError> {
        let selection = if self.arguments.all { Selection::All } else { Selection::Safe };
        match draft::recognise(&self.name, &self.text)? {
            SourceKind::Curl => draft::of_curl(&self.name, &self.text, &self.folder),
            SourceKind::Har(value) => draft::of_har_without(&self.name, &value, selection, self.avoided),
            SourceKind::OpenApi(description) => {
                let options = OpenApiOptions { server: self.arguments.server.clone(), selection };
                draft::of_openapi(&self.name, &description, &options)
            }
        }
    }
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
