//! What options say of TLS: versions, cipher suites, certificates of the client.

use engine::program::tls12_cipher_suites;
use engine::tls_offer::{self, TlsIdentity, TlsOffer};

use crate::options::{Options, OptionsError, TlsAuth, TlsVersion};

/// Names of Go that differ from those at IANA.
const OTHER_NAMES: [(&str, &str); 2] = [
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
];
/// Cipher suites of TLS 1.3, which are offered in any case, in k6 too.
const TLS13_SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// What is offered in TLS handshakes.
pub(super) fn offer(options: &Options) -> Result<TlsOffer, OptionsError> {
    Ok(TlsOffer {
        versions: versions(options)?,
        cipher_suites: cipher_suites(options)?,
        identities: options.tls_auth.iter().flatten().map(identity).collect::<Result<_, _>>()?,
    })
}

fn versions(options: &Options) -> Result<Option<Vec<tls_offer::TlsVersion>>, OptionsError> {
    let Some(range) = &options.tls_version else { return Ok(None) };
    let (min, max) = (range.min.unwrap_or(TlsVersion::Tls10), range.max.unwrap_or(TlsVersion::Tls13));
    let all = [
        (TlsVersion::Tls12, tls_offer::TlsVersion::Tls12),
        (TlsVersion::Tls13, tls_offer::TlsVersion::Tls13),
    ];
    let within = all.into_iter().filter(|(version, _)| (min..=max).contains(version));
    match within.map(|(_, version)| version).collect::<Vec<_>>() {
        none if none.is_empty() => {
            let reason = "there is TLS 1.2 and 1.3";
            Err(OptionsError::Unsupported { option: "tlsVersion without either".to_owned(), reason })
        }
        versions => Ok(Some(versions)),
    }
}

fn cipher_suites(options: &Options) -> Result<Option<Vec<String>>, OptionsError> {
    let Some(asked) = options.tls_cipher_suites.as_ref().filter(|asked| !asked.is_empty()) else {
        return Ok(None);
    };
    let supported = tls12_cipher_suites();
    let mut suites = Vec::new();
    for name in asked {
        let other = OTHER_NAMES.iter().find(|(other, _)| other == name).map(|(_, name)| *name);
        let name = other.unwrap_or(name);
        if supported.iter().any(|known| known == name) {
            suites.push(name.to_owned());
        } else if !TLS13_SUITES.contains(&name) {
            let option = format!("{name} in tlsCipherSuites");
            let reason = "of TLS 1.2 there are the suites of ECDHE with AES-GCM and with ChaCha20";
            return Err(OptionsError::Unsupported { option, reason });
        }
    }
    Ok(Some(suites))
}

/// As in k6, its domains have no effect: a server gets the first certificate that it accepts.
fn identity(auth: &TlsAuth) -> Result<TlsIdentity, OptionsError> {
    let key = auth.key.clone().unwrap_or_default();
    if key.contains("ENCRYPTED") {
        let reason = "give the key without a password: `openssl pkey -in KEY -out PLAIN-KEY`";
        return Err(OptionsError::Unsupported { option: "an encrypted key in tlsAuth".to_owned(), reason });
    }
    Ok(TlsIdentity {
        certificates: auth.cert.clone().unwrap_or_default().into_bytes(),
        key: key.into_bytes(),
    })
}
