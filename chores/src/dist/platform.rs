//! What a target of the compiler is called by each kind of package.

use anyhow::{Context as _, Result};

/// A platform that releases are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// The compiler's name.
    pub(super) triple: &'static str,
    /// The kernel's name of the processor.
    pub(super) architecture: &'static str,
    /// Debian's and the OCI's name of it.
    pub(super) debian: &'static str,
    /// Tags of wheels (PEP 600, PEP 656): a static program needs no C library, so it runs beside any.
    pub(super) wheel: [&'static str; 2],
    /// Flags of the compiler as a list in TOML: the C library inside.
    pub(super) flags: &'static str,
}

/// With glibc also the loader's tables in their short form, which its start-up code reads (DT_RELR, glibc 2.36), and functions
/// with the same instructions once, which needs LLD: the default linker of this platform.
const GLIBC: &str = r#"["-C","target-feature=+crt-static","-C","link-arg=-Wl,-z,pack-relative-relocs","-C","link-arg=-Wl,--icf=safe"]"#;
const MUSL: &str = r#"["-C","target-feature=+crt-static"]"#;

const PLATFORMS: [Platform; 3] = [
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        architecture: "x86_64",
        debian: "amd64",
        wheel: ["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"],
        flags: GLIBC,
    },
    Platform {
        triple: "x86_64-unknown-linux-musl",
        architecture: "x86_64",
        debian: "amd64",
        wheel: ["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"],
        flags: MUSL,
    },
    Platform {
        triple: "aarch64-unknown-linux-musl",
        architecture: "aarch64",
        debian: "arm64",
        wheel: ["manylinux_2_17_aarch64", "musllinux_1_1_aarch64"],
        flags: MUSL,
    },
];

/// The one that is made without `--target`.
pub(super) const DEFAULT: &str = PLATFORMS[0].triple;

impl Platform {
    /// The platform of the compiler's `triple`.
    ///
    /// # Errors
    /// When releases are not made for it.
    pub(super) fn of(triple: &str) -> Result<Self> {
        let found = PLATFORMS.into_iter().find(|platform| platform.triple == triple);
        found.with_context(|| {
            let known = PLATFORMS.map(|platform| platform.triple).join(", ");
            format!("releases are not made for `{triple}`, but for {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_platform_is_refused_with_those_there_are() {
        let error = Platform::of("riscv64gc-unknown-linux-gnu").expect_err("none").to_string();
        assert!(
            error.contains("`riscv64gc-unknown-linux-gnu`") && error.contains("aarch64-unknown-linux-musl")
        );
        assert_eq!(Platform::of(DEFAULT).expect("the default is one").debian, "amd64");
    }

    #[test]
    fn every_platform_of_the_release_workflow_is_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../.github/workflows/release.yml");
        let text = std::fs::read_to_string(path).expect("it is there");
        let values: Vec<String> = saphyr_parser::Parser::new_from_str(&text)
            .filter_map(|event| match event.expect("the workflow is YAML").0 {
                saphyr_parser::Event::Scalar(value, ..) => Some(value.into_owned()),
                _ => None,
            })
            .collect();
        let targets = values.windows(2).filter(|pair| pair[0] == "target").map(|pair| pair[1].as_str());
        let targets: Vec<&str> = targets.map(|triple| Platform::of(triple).expect("known").triple).collect();
        assert_eq!(targets, ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]);
        assert!(
            values
                .iter()
                .any(|value| value.contains("cargo xtask dist --check --target ${{ matrix.target }}"))
        );
    }
}
