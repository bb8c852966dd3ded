//! Images of others are named by digest: a tag may name other bytes tomorrow.

use super::complaint::Complaint;
use super::tree::Tree;

/// Where images are named.
const FOLDER: &str = "deploy/";
const DIGEST: &str = "@sha256:";

/// Every image of a registry without a digest.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for source in tree.sources.iter().filter(|source| source.path.starts_with(FOLDER)) {
        for (index, line) in source.text.lines().enumerate() {
            let Some(image) = image(line).filter(|image| is_of_a_registry(image) && !has_digest(image))
            else {
                continue;
            };
            complaints.push(Complaint {
                path: source.path.clone(),
                line: index + 1,
                wrong: format!("the image `{image}` has no digest"),
                instead: "write NAME:TAG@sha256:DIGEST".to_owned(),
            });
        }
    }
    complaints
}

/// The image that a line of a Containerfile or of a compose file names.
fn image(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.strip_prefix("FROM ").or_else(|| line.strip_prefix("image: "))?;
    rest.split_whitespace().find(|word| !word.starts_with("--"))
}

/// Others, such as `challenge`, are built here.
fn is_of_a_registry(image: &str) -> bool {
    image.split_once('/').is_some_and(|(registry, _)| registry.contains(['.', ':']))
}

fn has_digest(image: &str) -> bool {
    let digest = image.split_once(DIGEST).map(|(_, digest)| digest);
    digest.is_some_and(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::complaint::printed;

    #[test]
    fn an_image_without_a_digest_is_named() {
        let digest = "ab".repeat(32);
        let file = format!(
            "FROM docker.io/library/rust:1 AS build\nFROM --platform=linux/amd64 gcr.io/a/b@sha256:{digest}\n\
             FROM build\nimage: challenge\n  image: docker.io/library/redis:7@sha256:12\n"
        );
        let tree = Tree::of(&[("deploy/Containerfile", &file), ("docs/a.md", "FROM docker.io/a\n")]);
        assert_eq!(
            printed(&check(&tree)),
            "deploy/Containerfile:1: the image `docker.io/library/rust:1` has no digest; write NAME:TAG@sha256:DIGEST\n\
             deploy/Containerfile:5: the image `docker.io/library/redis:7@sha256:12` has no digest; write \
             NAME:TAG@sha256:DIGEST\n"
        );
    }
}
