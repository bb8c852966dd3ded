//! The files that a process runs: its program and, of an interpreter, the file that it was given.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};

use sha2::{Digest as _, Sha256};

use super::or_unknown;

/// The largest file that is digested.
const LARGEST: u64 = 1 << 30;
const PIECE: usize = 1 << 16;
/// Programs that run other programs, by the beginning of their names, before a version.
const INTERPRETERS: [&str; 22] = [
    "python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "java", "dotnet", "mono", "beam.smp",
    "lua", "luajit", "Rscript", "R", "sh", "bash", "dash", "zsh", "ksh", "busybox",
];

pub(super) fn is_interpreter(exe: &str) -> bool {
    let name = exe.rsplit('/').next().unwrap_or(exe).trim_end_matches(" (deleted)");
    let name = name.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | '-'));
    INTERPRETERS.contains(&name)
}

/// The first argument that is a file, with its digest. Imports, libraries and class paths are not followed.
pub(super) fn program_file(pid: u32, arguments: &[String]) -> Vec<(&'static str, String)> {
    // As the process sees it: a container has a file system of its own.
    let seen = |argument: &str| match argument.starts_with('/') {
        true => format!("/proc/{pid}/root{argument}"),
        false => format!("/proc/{pid}/cwd/{argument}"),
    };
    let is_file = |argument: &&String| {
        !argument.is_empty() && fs::metadata(seen(argument)).is_ok_and(|found| found.is_file())
    };
    match arguments.iter().find(is_file) {
        None => vec![("program_file", "none".to_owned())],
        Some(argument) => vec![
            ("program_file", argument.clone()),
            ("program_file_sha256", or_unknown(sha256(&seen(argument)))),
        ],
    }
}

/// SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &str) -> io::Result<String> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(io::Error::other("it is not a file of at most 1 GiB"));
    }
    let mut reader = BufReader::with_capacity(PIECE, File::open(path)?);
    let mut digest = Sha256::new();
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        digest.update(piece);
        let read = piece.len();
        reader.consume(read);
    }
    Ok(hex::encode(digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_with_and_without_version() {
        for exe in
            ["/usr/bin/python3.11", "/opt/node", "/usr/bin/php-8.2", "/usr/bin/dash (deleted)", "/bin/ruby3"]
        {
            assert!(is_interpreter(exe), "{exe}");
        }
        for exe in ["/srv/shop", "/usr/sbin/nginx", "/usr/bin/python-shop", "/usr/bin/javac", ""] {
            assert!(!is_interpreter(exe), "{exe}");
        }
    }

    #[test]
    fn the_file_of_an_interpreter_is_the_first_argument_that_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("a.py");
        fs::write(&script, "abc").unwrap();
        let arguments = ["-u", "no-such", folder.path().to_str().unwrap(), script.to_str().unwrap()];
        let found = program_file(std::process::id(), &arguments.map(str::to_owned));
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(
            found,
            [("program_file", arguments[3].to_owned()), ("program_file_sha256", digest.to_owned())]
        );
        assert_eq!(
            program_file(std::process::id(), &["-m".to_owned()]),
            [("program_file", "none".to_owned())]
        );
        assert_eq!(program_file(0, &["Cargo.toml".to_owned()]), [("program_file", "none".to_owned())]);
        assert!(sha256("/dev/null").unwrap_err().to_string().contains("not a file"));
    }
}
