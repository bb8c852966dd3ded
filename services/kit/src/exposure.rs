//! Who can reach a service that does not verify its callers: this machine alone, unless `AUTH=off` says that everyone in
//! its network is trusted.

use std::net::SocketAddr;

use crate::env::{Env, EnvError};

/// How a service knows its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// By credentials that it verifies.
    Verified,
    /// By what they say, or not at all.
    Trusted,
}

/// Who can reach a service, and what it knows of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Anyone; callers are verified.
    Verified,
    /// Programs on this machine; they are trusted.
    ThisMachine,
    /// Anyone, by `AUTH=off`; they are trusted.
    Anyone,
}

/// Whether `AUTH=off` is set: credentials are neither required nor verified.
///
/// # Errors
/// When `AUTH` has another value than `on` and `off`.
pub fn is_off(env: &Env) -> Result<bool, EnvError> {
    env.choice("AUTH", &[("on", false), ("off", true)])
}

impl Exposure {
    /// The exposure of a service with these addresses.
    ///
    /// # Errors
    /// When its callers are trusted, an address is not on the loopback interface, and `AUTH` is not `off`.
    pub fn read(env: &Env, callers: Callers, addresses: &[SocketAddr]) -> Result<Self, EnvError> {
        let is_off = is_off(env)?;
        let outside = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
        match (callers, outside) {
            (Callers::Verified, _) => Ok(Self::Verified),
            (Callers::Trusted, None) => Ok(Self::ThisMachine),
            (Callers::Trusted, Some(_)) if is_off => Ok(Self::Anyone),
            (Callers::Trusted, Some(address)) => Err(EnvError {
                name: "AUTH",
                value: env.text("AUTH").unwrap_or_default().to_owned(),
                expected: format!(
                    "{address} can be reached from other machines and callers are not verified; set AUTH_JWKS_URL, or \
                     BIND_ADDRESS to this machine, or AUTH=off to trust everyone"
                ),
            }),
        }
    }

    /// Logs a warning when callers are trusted.
    pub fn warn(self) {
        match self {
            Self::Verified => {}
            Self::ThisMachine => {
                tracing::warn!("callers are not verified; only programs on this machine can call");
            }
            Self::Anyone => tracing::warn!(
                "AUTH=off: callers are not verified, and other machines can call: everyone who reaches a port may do anything"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(auth: &str, callers: Callers, addresses: &[&str], expect: Option<Exposure>) {
        let addresses: Vec<SocketAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let read = Exposure::read(&Env::from_pairs([("AUTH", auth)]), callers, &addresses);
        assert_eq!(read.ok(), expect, "{auth} {callers:?} {addresses:?}");
    }

    #[test]
    fn trusted_callers_come_from_this_machine_unless_auth_is_off() {
        use Callers::{Trusted, Verified};
        for address in ["0.0.0.0:80", "[::]:80", "192.168.0.7:80", "[::ffff:10.0.0.1]:80"] {
            check("", Verified, &[address], Some(Exposure::Verified));
            check("", Trusted, &[address], None);
            check("on", Trusted, &["127.0.0.1:80", address], None);
            check("off", Trusted, &["127.0.0.1:80", address], Some(Exposure::Anyone));
            check("OFF", Trusted, &[address], None);
        }
        for address in ["127.0.0.1:80", "127.8.8.8:0", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            check("", Trusted, &[address], Some(Exposure::ThisMachine));
            check("off", Trusted, &[address], Some(Exposure::ThisMachine));
        }
    }

    #[test]
    fn the_refusal_names_the_address_and_the_ways_out() {
        let address = "0.0.0.0:8080".parse().unwrap();
        let refused =
            Exposure::read(&Env::from_pairs([]), Callers::Trusted, &[address]).unwrap_err().to_string();
        for word in ["0.0.0.0:8080", "AUTH_JWKS_URL", "BIND_ADDRESS", "AUTH=off"] {
            assert!(refused.contains(word), "{word} is not in: {refused}");
        }
    }
}
