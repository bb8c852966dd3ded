//! A container image made without a daemon: an OCI image layout (image-spec 1.1) in a tar archive, which also has the
//! `manifest.json` that `docker load` reads.

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::release::{DESCRIPTION, LICENCE, Release, SUMMARY};
use super::tree::{FileTree, gzip};

/// The unprivileged user `nonroot`, with the number that distroless images gave it.
pub(crate) const USER: u64 = 65532;
/// Where runs leave their files; owned by the user.
const FOLDER: &str = "data";
/// What the date of everything is called in JSON.
const CREATED: &str = "1980-01-01T00:00:00Z";

/// `plimsoll-0.1.0-x86_64-image.tar`.
pub(super) fn file_name(release: &Release) -> String {
    format!("plimsoll-{}-{}-image.tar", release.version, release.platform.architecture)
}

/// A named blob.
struct Blob {
    digest: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(bytes: Vec<u8>) -> Self {
        Self { digest: hex::encode(Sha256::digest(&bytes)), bytes }
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({
            "mediaType": format!("application/vnd.oci.image.{media_type}"),
            "digest": format!("sha256:{}", self.digest),
            "size": self.bytes.len(),
        })
    }
}

/// The image. `authorities` are the certificates (PEM) that targets with `https://` are checked against.
///
/// # Errors
/// When a path does not fit into an archive.
pub(super) fn image(release: &Release, authorities: &[u8]) -> Result<Vec<u8>> {
    // The first layer changes less often than the second, so registries and machines keep it.
    let trees = [system(authorities), program(release)];
    let reference = format!("docker.io/library/plimsoll:{}", release.version);
    let name =
        ImageName { reference: &reference, tag: &release.version, architecture: release.platform.debian };
    archive(&trees, name, |uncompressed| configuration(release, uncompressed))
}

/// What an image is called.
pub(crate) struct ImageName<'a> {
    /// With registry and tag.
    pub(crate) reference: &'a str,
    pub(crate) tag: &'a str,
    /// The OCI's name of the processor.
    pub(crate) architecture: &'a str,
}

/// An image of these layers; `configuration` is given the digests of their uncompressed archives.
///
/// # Errors
/// When a path does not fit into an archive.
pub(crate) fn archive(
    trees: &[FileTree],
    name: ImageName<'_>,
    configuration: impl FnOnce(&[String]) -> Value,
) -> Result<Vec<u8>> {
    let archives = trees.iter().map(FileTree::tar).collect::<Result<Vec<_>>>()?;
    let layers = archives.iter().map(|tar| gzip(tar).map(Blob::new)).collect::<Result<Vec<_>>>()?;
    let uncompressed: Vec<String> =
        archives.iter().map(|tar| format!("sha256:{}", hex::encode(Sha256::digest(tar)))).collect();
    let config = Blob::new(configuration(&uncompressed).to_string().into_bytes());
    let descriptors: Vec<Value> = layers.iter().map(|layer| layer.descriptor("layer.v1.tar+gzip")).collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor("config.v1+json"),
        "layers": descriptors,
    });
    let manifest = Blob::new(manifest.to_string().into_bytes());
    let mut described = manifest.descriptor("manifest.v1+json");
    described["platform"] = json!({ "architecture": name.architecture, "os": "linux" });
    described["annotations"] = json!({
        "org.opencontainers.image.ref.name": name.tag,
        "io.containerd.image.name": name.reference,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [described],
    });
    let docker = json!([{
        "Config": config.path(),
        "RepoTags": [name.reference.trim_start_matches("docker.io/library/")],
        "Layers": layers.iter().map(Blob::path).collect::<Vec<_>>(),
    }]);
    let tree = FileTree::default()
        .file("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string())
        .file("index.json", index.to_string())
        .file("manifest.json", docker.to_string());
    let blobs = layers.into_iter().chain([config, manifest]);
    blobs.fold(tree, |tree, blob| tree.file(blob.path(), blob.bytes)).tar()
}

/// Authorities, an unprivileged user, and folders that it may write to; no shell and no package manager.
fn system(authorities: &[u8]) -> FileTree {
    FileTree::default()
        .file("etc/ssl/certs/ca-certificates.crt", authorities)
        .file("etc/passwd", format!("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/{FOLDER}:/sbin/nologin\n"))
        .file("etc/group", format!("root:x:0:\nnonroot:x:{USER}:\n"))
        .file("etc/nsswitch.conf", "hosts: files dns\n")
        .folder(FOLDER, USER, 0o755)
        .folder("tmp", 0, 0o1777)
}

fn program(release: &Release) -> FileTree {
    let tree = FileTree::default()
        .program("usr/bin/plimsoll", release.program.as_slice())
        .file("usr/share/doc/plimsoll/plimsoll.cdx.json", release.bill.as_str());
    release
        .licences
        .iter()
        .fold(tree, |tree, (name, text)| tree.file(format!("usr/share/doc/plimsoll/{name}"), text.as_str()))
}

fn configuration(release: &Release, uncompressed: &[String]) -> Value {
    let history = ["authorities and an unprivileged user", "plimsoll"]
        .map(|what| json!({ "created": CREATED, "created_by": format!("cargo xtask dist: {what}") }));
    json!({
        "architecture": release.platform.debian,
        "os": "linux",
        "created": CREATED,
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/usr/bin/plimsoll"],
            "Cmd": ["--help"],
            "WorkingDir": format!("/{FOLDER}"),
            "Env": ["PATH=/usr/bin"],
            "Labels": {
                "org.opencontainers.image.title": SUMMARY,
                "org.opencontainers.image.description": DESCRIPTION,
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": LICENCE,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": uncompressed },
        "history": history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read as _;

    fn unpacked(tar: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(tar);
        let entries = archive.entries().expect("an archive").map(|entry| {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("UTF-8").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("in memory");
            (path, bytes)
        });
        entries.collect()
    }

    fn json_of(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
        serde_json::from_slice(&files[path]).expect("JSON")
    }

    /// The blob that a descriptor names, after its digest and size were checked.
    fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Value) -> &'a [u8] {
        let digest = descriptor["digest"].as_str().expect("text").strip_prefix("sha256:").expect("SHA-256");
        let bytes = &files[&format!("blobs/sha256/{digest}")];
        assert_eq!(hex::encode(Sha256::digest(bytes)), digest);
        assert_eq!(descriptor["size"], bytes.len());
        bytes
    }

    #[test]
    fn every_digest_of_the_layout_is_that_of_its_blob() {
        let files = unpacked(&image(&Release::sample(), b"PEM").expect("packed"));
        assert_eq!(json_of(&files, "oci-layout")["imageLayoutVersion"], "1.0.0");
        let index = json_of(&files, "index.json");
        let manifest: Value = serde_json::from_slice(blob(&files, &index["manifests"][0])).expect("JSON");
        let config: Value = serde_json::from_slice(blob(&files, &manifest["config"])).expect("JSON");
        assert_eq!(config["config"]["User"], "65532:65532");
        let layers = manifest["layers"].as_array().expect("a list");
        let docker = json_of(&files, "manifest.json");
        assert_eq!(docker[0]["RepoTags"][0], "plimsoll:1.2.3");
        let mut all = BTreeMap::new();
        for (at, layer) in layers.iter().enumerate() {
            let packed = blob(&files, layer);
            assert_eq!(files[docker[0]["Layers"][at].as_str().expect("a path")], packed);
            let mut tar = Vec::new();
            flate2::read::GzDecoder::new(packed).read_to_end(&mut tar).expect("gzip");
            assert_eq!(
                config["rootfs"]["diff_ids"][at],
                format!("sha256:{}", hex::encode(Sha256::digest(&tar)))
            );
            all.extend(unpacked(&tar));
        }
        assert_eq!(all["etc/ssl/certs/ca-certificates.crt"], b"PEM");
        assert_eq!(all["usr/bin/plimsoll"], Release::sample().program);
        assert!(all.contains_key("data/") && all.contains_key("tmp/"));
    }

    #[test]
    fn the_same_release_gives_the_same_image() {
        let image = || image(&Release::sample(), b"PEM").expect("packed");
        assert_eq!(image(), image());
    }
}
