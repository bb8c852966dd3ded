//! Modules that scripts import by URL: nothing is fetched, they are read from a folder that the user fills.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Whether a module has a URL instead of a file.
pub(crate) fn is_remote(name: &str) -> bool {
    name.starts_with("https://") || name.starts_with("http://")
}

/// The file of the module at `url`: the SHA-256 of the URL in hexadecimal digits, and `.js`.
pub(super) fn cached_file(folder: &Path, url: &str) -> PathBuf {
    let digest = hex::encode(Sha256::digest(url.as_bytes()));
    folder.join(digest + ".js")
}

/// How a module gets there that is not.
pub(super) fn how_to_fill(url: &str, file: &Path) -> String {
    let file = file.display();
    format!(
        "\"{url}\" is not in the import cache, and scripts fetch nothing: save it there with\n  curl -fsSL --create-dirs -o '{file}' '{url}'"
    )
}
