//! Digest authentication (RFC 7616), as far as k6 has it: MD5 and SHA-256, with `qop=auth` or without.

use md5::Md5;
use sha2::{Digest as _, Sha256};

use super::Url;

/// What a server asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    algorithm: Option<String>,
    has_auth: bool,
}

/// The header `Authorization` that answers a challenge; none where it is not a challenge of this kind.
pub(crate) fn authorization(method: &str, url: &Url, challenge: &str) -> Option<String> {
    let challenge = Challenge::parse(challenge)?;
    // Without the password it cannot be guessed, and each nonce has another one.
    let seed = format!("{}:{}:{url}", url.user.as_deref()?, challenge.nonce);
    answer(ChallengedRequest { method, url }, &challenge, &hex::encode(&Sha256::digest(seed)[..16]))
}

/// The request that a server challenges.
#[derive(Clone, Copy)]
struct ChallengedRequest<'a> {
    method: &'a str,
    url: &'a Url,
}

fn answer(asked: ChallengedRequest<'_>, challenge: &Challenge, client_nonce: &str) -> Option<String> {
    let (user, password) = asked.url.user.as_deref()?.split_once(':')?;
    let algorithm = challenge.algorithm.as_deref().unwrap_or("MD5");
    let digest = |text: String| -> String {
        let bytes = match algorithm.to_ascii_uppercase().starts_with("SHA-256") {
            true => Sha256::digest(text).to_vec(),
            false => Md5::digest(text).to_vec(),
        };
        hex::encode(bytes)
    };
    let Challenge { realm, nonce, .. } = challenge;
    let mut secret = digest(format!("{user}:{realm}:{password}"));
    if algorithm.to_ascii_lowercase().ends_with("-sess") {
        secret = digest(format!("{secret}:{nonce}:{client_nonce}"));
    }
    let path = &asked.url.path;
    let request = digest(format!("{}:{path}", asked.method));
    let response = match challenge.has_auth {
        true => digest(format!("{secret}:{nonce}:00000001:{client_nonce}:auth:{request}")),
        false => digest(format!("{secret}:{nonce}:{request}")),
    };
    let mut text = format!(
        "Digest username=\"{user}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{path}\", response=\"{response}\""
    );
    if let Some(algorithm) = &challenge.algorithm {
        text.push_str(&format!(", algorithm=\"{algorithm}\""));
    }
    if let Some(opaque) = &challenge.opaque {
        text.push_str(&format!(", opaque=\"{opaque}\""));
    }
    if challenge.has_auth {
        text.push_str(&format!(", qop=auth, nc=00000001, cnonce=\"{client_nonce}\""));
    }
    Some(text)
}

impl Challenge {
    fn parse(header: &str) -> Option<Challenge> {
        let (scheme, rest) = header.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("digest") {
            return None;
        }
        let mut challenge = Challenge::default();
        for field in split_fields(rest) {
            let Some((name, value)) = field.split_once('=') else { continue };
            let value = value.trim().trim_matches('"').to_owned();
            match name.trim().to_ascii_lowercase().as_str() {
                "realm" => challenge.realm = value,
                "nonce" => challenge.nonce = value,
                "opaque" => challenge.opaque = Some(value),
                "algorithm" => challenge.algorithm = Some(value),
                "qop" => challenge.has_auth = value.split(',').any(|way| way.trim() == "auth"),
                _ => {}
            }
        }
        Some(challenge)
    }
}

/// What commas outside of quotes separate.
fn split_fields(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let is_end = |character: char| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    };
    text.split(is_end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7616, section 3.9.1.
    #[test]
    fn the_example_of_the_standard_is_answered() {
        let url = Url::parse("http://Mufasa:Circle%20of%20Life@www.example.org/dir/index.html").unwrap();
        let request = ChallengedRequest { method: "GET", url: &url };
        let challenge = "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=MD5, \
            nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
        for (challenge, response) in [
            (challenge.to_owned(), "8ca523f5e9506fed4657c9700eebdbec"),
            (
                challenge.replace("MD5", "SHA-256"),
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let challenge = Challenge::parse(&challenge).unwrap();
            let text = answer(request, &challenge, "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ").unwrap();
            assert!(text.contains(&format!("response=\"{response}\"")), "{text}");
            assert!(text.contains("opaque=\"FQhe") && text.contains("nc=00000001"), "{text}");
        }
        assert_eq!(Challenge::parse("Basic realm=\"x\""), None);
    }
}
