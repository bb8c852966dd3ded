//! A run as objects of Kubernetes: an Indexed Job whose pod 0 coordinates, and what belongs to it. Pure: the same run gives the
//! same objects. They ask for Kubernetes 1.29 or newer.

mod files;
mod job;
mod layout;
mod network;
mod objects;
mod run;
mod snapshot;
mod yaml;

use std::path::PathBuf;

pub use files::{CONFIG_MAP_BYTES, FilesFrom};
pub use layout::Layout;
pub use network::Reached;
pub use objects::Object;
pub use run::{RunObjects, SecretFrom, load_end};
pub use snapshot::{Obstacle, Pod, PodState, Snapshot, refusal};
pub use yaml::to_yaml;

/// The label whose value is the run's name, on everything that belongs to it. It is not a label that others use: pods are selected by
/// it.
pub const RUN_LABEL: &str = "plimsoll/run";
/// The label that names what deletes the objects.
pub const OWNER_LABEL: &str = "app.kubernetes.io/managed-by";
/// Its value where the command that made them deletes them.
pub const OWNER: &str = "plimsoll";
/// The name of the one container of each pod.
pub const CONTAINER: &str = "plimsoll";
/// The port at which each pod but the first waits for the coordinator.
pub const WORKER_PORT: u16 = 7400;
/// The exit code of a pod whose worker failed, which is none of a run: the others go on.
pub const WORKER_EXIT: u8 = 10;
/// The folder in a pod to which the run file is written.
pub const DATA_FOLDER: &str = "/data";
/// The folder in a pod at which the volume for run files is, if there is one.
pub const RUN_FILES_FOLDER: &str = "/run-files";
/// The variable in a pod with the path of the run file, where it is not in the data folder.
pub const RUN_FILE_VARIABLE: &str = "PLIMSOLL_POD_RUN_FILE";
/// The keys of the run in a pod.
pub const KEYS_FILE: &str = "/run/plimsoll/keys/run.pem";
/// The name of the keys in the Secret.
pub const KEYS_ENTRY: &str = "run.pem";

/// The longest name of a run: the names of its pods and their hosts are longer, and have 63 characters at most.
const LONGEST_NAME: usize = 40;

/// Why a run cannot be made into objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubernetesError {
    /// More than a ConfigMap contains.
    #[error(
        "the plan and its files have {bytes} bytes, and a ConfigMap contains {CONFIG_MAP_BYTES} at most: put them into the \
         image (`--files-in /FOLDER`) or onto a volume (`--files-in claim:NAME`); the largest is `{largest}`"
    )]
    TooLarge {
        /// Of all files.
        bytes: usize,
        /// The path of the largest.
        largest: String,
    },
    /// A path that pods do not have.
    #[error("`{0}` is named by an absolute path, which pods do not have: name it relative to the plan")]
    AbsolutePath(String),
    /// A path that an object cannot contain.
    #[error("{} is not valid UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// Not a name of an object.
    #[error(
        "`{0}` is not a valid name for a run in a cluster: it has at most {LONGEST_NAME} characters, lower-case letters, digits and \
         `-`, and begins with a letter"
    )]
    Name(String),
}

/// Whether this can name a run: an RFC 1035 label, short enough for the names of its pods.
fn is_name(name: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(is_inside)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
}

/// A name for a run, made of any text.
pub fn name_of(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let parts = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let joined = parts.collect::<Vec<_>>().join("-");
    let from_letter = joined.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    // Space for what makes the name of one run differ from that of the next.
    let short: String = from_letter.chars().take(LONGEST_NAME - 8).collect();
    match short.trim_end_matches('-') {
        "" => "run".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_any_text() {
        for (text, name) in [
            ("Checkout: peak hour", "checkout-peak-hour"),
            ("3 users", "users"),
            ("é", "run"),
            ("a".repeat(90).as_str(), "a".repeat(32).as_str()),
            ("x-------", "x"),
        ] {
            assert_eq!(name_of(text), name);
            assert!(is_name(&name_of(text)));
        }
        for text in ["", "-a", "a-", "A", "1a", "a.b", &"a".repeat(41)] {
            assert!(!is_name(text), "{text}");
        }
    }
}
