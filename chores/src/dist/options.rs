//! The arguments of `cargo xtask dist`.

use anyhow::{Context as _, Result, bail};

use super::platform::{self, Platform};

/// Every binary that is shipped; its package has the same name.
pub(super) const BINARIES: [&str; 4] = [TOOL, "challenge", "gateway", "listings"];
/// The one that is also packed.
pub(super) const TOOL: &str = "plimsoll";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) binaries: Vec<&'static str>,
    pub(super) platform: Platform,
    pub(super) trial: Trial,
}

/// Whether what was made is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// Each package is installed into an empty root and used there.
    CleanRoots,
    None,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When there is no such binary, platform or flag.
    pub(super) fn read(arguments: &[String]) -> Result<Self> {
        let mut options =
            Self { binaries: Vec::new(), platform: Platform::of(platform::DEFAULT)?, trial: Trial::None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.trial = Trial::CleanRoots,
                "--target" => {
                    options.platform = Platform::of(arguments.next().context("--target needs a platform")?)?;
                }
                flag if flag.starts_with('-') => bail!("there is no flag `{flag}`"),
                name => {
                    let known = BINARIES.into_iter().find(|binary| *binary == name);
                    let known = known.with_context(|| {
                        format!("there is no binary `{name}`; there are {}", BINARIES.join(", "))
                    })?;
                    options.binaries.push(known);
                }
            }
        }
        if options.binaries.is_empty() {
            options.binaries = match options.trial {
                Trial::CleanRoots => vec![TOOL],
                Trial::None => BINARIES.to_vec(),
            };
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Options, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Options::read(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn all_binaries_are_made_unless_some_are_named_and_only_the_tool_is_tried() {
        assert_eq!(read(&[]).expect("valid").binaries, BINARIES);
        assert_eq!(read(&["gateway"]).expect("valid").binaries, ["gateway"]);
        let tried = read(&["--check"]).expect("valid");
        assert_eq!((tried.binaries, tried.trial), (vec![TOOL], Trial::CleanRoots));
        let other = read(&["--target", "aarch64-unknown-linux-musl", "plimsoll"]).expect("valid");
        assert_eq!(other.platform.debian, "arm64");
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        assert_eq!(
            read(&["k6"]),
            Err("there is no binary `k6`; there are plimsoll, challenge, gateway, listings".to_owned())
        );
        assert_eq!(read(&["--fast"]), Err("there is no flag `--fast`".to_owned()));
        assert_eq!(read(&["--target"]), Err("--target needs a platform".to_owned()));
    }
}
