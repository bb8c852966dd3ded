//! Two versions that run already, named by URLs: what is sent to them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use evidence::visible;
use workload::address::Origin;
use workload::experiment::Arm;
use workload::redact::shown_address;

/// What each version is sent, unless another rate is asked for.
pub(super) const USUAL_RATE: &str = "50/s";
const TARGET: &str = "service";

/// The same path of two versions.
pub(super) struct Urls {
    /// The origins, A's and B's.
    origins: [String; 2],
    /// The ports on this machine on which processes listen that can be observed.
    ports: Option<[u16; 2]>,
    path: String,
}

impl Urls {
    pub(super) fn parse(a: &str, b: &str) -> CommandResult<Urls> {
        let [(a, path), (b, path_of_b)] = [split(a)?, split(b)?];
        if path != path_of_b {
            return Err(Failure::usage(anyhow!(
                "the two URLs are of two versions of one service, and their paths differ: `{path}` and `{path_of_b}`"
            )));
        }
        let port = |url: &str| {
            let origin = Origin::parse(url).ok()?;
            let is_local = matches!(origin.host.as_str(), "localhost" | "127.0.0.1" | "[::1]" | "::1");
            (is_local && observe::ProcessRef::Port(origin.port).check().is_ok()).then_some(origin.port)
        };
        let ports = port(&a).zip(port(&b)).map(|(a, b)| [a, b]);
        Ok(Urls { origins: [a, b], ports, path })
    }

    /// The two versions.
    pub(super) fn arms(&self) -> [Arm; 2] {
        self.origins.each_ref().map(|origin| Arm {
            targets: BTreeMap::from([(TARGET.to_owned(), origin.clone())]),
            ..Arm::default()
        })
    }

    /// A plan that gets the path, in `folder`.
    pub(super) fn plan(&self, rate: &str, folder: &Path) -> CommandResult<PathBuf> {
        // A string of JSON is one of TOML.
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let mut plan = format!("version = 1\n[targets.{TARGET}]\nurl = {}\n", text(&self.origins[0]));
        if let Some([port, _]) = self.ports {
            // Writing to a string cannot fail.
            let _ = writeln!(plan, "process = {{ port = {port} }}");
        }
        let _ = write!(
            plan,
            "[[scenarios]]\nname = \"get\"\nexecutor = \"constant-arrival-rate\"\nrate = {}\nduration = \"60s\"\n\
             [[scenarios.steps]]\nname = \"get\"\nget = {}\n",
            text(rate),
            text(&format!("${{{TARGET}.url}}{}", self.path))
        );
        let path = folder.join("urls.toml");
        std::fs::write(&path, plan)
            .map_err(|error| Failure::own(anyhow!("{} cannot be written: {error}", path.display())))?;
        Ok(path)
    }
}

/// The origin and the path of a URL.
fn split(url: &str) -> CommandResult<(String, String)> {
    let after_scheme = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = after_scheme else {
        return Err(Failure::usage(anyhow!(
            "`{}` is not a URL: two versions that run already are compared by `plimsoll ab URL_A URL_B`, run files by `plimsoll \
             compare BEFORE AFTER`",
            visible(&shown_address(url))
        )));
    };
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    let origin = &url[..url.len() - rest.find('/').map_or(0, |at| rest.len() - at)];
    Ok((origin.to_owned(), path.to_owned()))
}
