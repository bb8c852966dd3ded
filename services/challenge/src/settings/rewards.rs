//! The settings of rewards.

use std::path::PathBuf;
use std::time::Duration;

use kit::client::{Bounds, Client};
use kit::env::{Env, EnvError};

use super::count;
use crate::claims::ClaimPolicy;
use crate::rewards::{RewardSettings, Token};
use crate::store::ClaimTerms;

/// Only the status of a response is used; a larger body is not read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// What `REWARD_CLIENT_MODE` says; without it, a URL decides.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// Rewards go into the ledger, also with a URL.
    Mock,
    /// Rewards are granted by the service at the URL.
    Real,
}

/// `None` when no service is configured: rewards then go into the ledger.
pub(super) fn read(env: &Env) -> Result<Option<RewardSettings>, EnvError> {
    let mode = env.text("REWARD_CLIENT_MODE");
    let modes = [("mock", Mode::Mock), ("real", Mode::Real)];
    let mode = mode.map(|_| env.choice("REWARD_CLIENT_MODE", &modes)).transpose()?;
    let url = match (mode, env.text("REWARD_URL")) {
        (Some(Mode::Mock), _) | (None, None) => return Ok(None),
        (Some(Mode::Real), None) => {
            let expected = "mock, or REWARD_URL must be set".to_owned();
            return Err(EnvError { name: "REWARD_CLIENT_MODE", value: "real".to_owned(), expected });
        }
        (_, Some(url)) => url,
    };
    let timeout = Duration::from_millis(env.within("REWARD_TIMEOUT_MS", 2_000, 10..=60_000)?);
    let bounds = Bounds { timeout, body_bytes: MAX_ANSWER_BYTES };
    let client = Client::to(url, bounds).map_err(|error| {
        let value = if url.contains('@') { "(hidden)" } else { url };
        EnvError { name: "REWARD_URL", value: value.to_owned(), expected: error.to_string() }
    })?;
    Ok(Some(RewardSettings {
        client,
        token: token(env)?,
        attempts: u32::try_from(env.within("REWARD_ATTEMPTS", 4, 1..=10)?).unwrap_or(1),
        timeout,
        in_flight: count(env, "REWARD_MAX_IN_FLIGHT", 64, 10_000)?,
    }))
}

/// A claim is resumed after two periods, and not before the longest time that it may take. Claims take a quarter of the
/// slots of all requests.
pub(super) fn claim_policy(
    env: &Env,
    namespace: &str,
    rewards: Option<&RewardSettings>,
    http_in_flight: usize,
) -> Result<ClaimPolicy, EnvError> {
    let period = Duration::from_secs(env.within("CLAIM_RESUME_S", 30, 1..=3600)?);
    let longest_grant = rewards.map(RewardSettings::max_duration).unwrap_or_default();
    let max_duration = longest_grant.max(period * 2);
    let terms = ClaimTerms { namespace: namespace.to_owned(), max_duration };
    let part = (http_in_flight as u64 / 4).max(1);
    Ok(ClaimPolicy { terms, period, in_flight: count(env, "CLAIM_MAX_IN_FLIGHT", part, 100_000)? })
}

fn token(env: &Env) -> Result<Token, EnvError> {
    let refused = |expected: &str| EnvError {
        name: "REWARD_TOKEN",
        value: "(hidden)".to_owned(),
        expected: expected.to_owned(),
    };
    match (env.text("REWARD_TOKEN"), env.text("REWARD_TOKEN_FILE")) {
        (Some(text), None) => {
            Token::fixed(text).ok_or_else(|| refused("a text that is a valid header value"))
        }
        (None, Some(path)) => Ok(Token::File(PathBuf::from(path))),
        _ => Err(refused("with REWARD_URL, either it or REWARD_TOKEN_FILE must be set")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pairs: &[(&str, &str)]) -> String {
        read(&Env::from_pairs(pairs.iter().copied())).unwrap_err().to_string()
    }

    #[test]
    fn without_a_url_there_are_no_reward_settings() {
        assert!(read(&Env::from_pairs([("REWARD_TOKEN", "t")])).unwrap().is_none());
    }

    #[test]
    fn the_mode_of_the_reward_client_is_honoured() {
        let (url, token) = (("REWARD_URL", "http://127.0.0.1:1/grants"), ("REWARD_TOKEN", "t"));
        let mode = |mode| ("REWARD_CLIENT_MODE", mode);
        assert!(read(&Env::from_pairs([url, token, mode("mock")])).unwrap().is_none());
        assert!(read(&Env::from_pairs([mode("mock")])).unwrap().is_none());
        assert!(read(&Env::from_pairs([url, token, mode("real")])).unwrap().is_some());
        assert!(refused(&[mode("real")]).starts_with("REWARD_CLIENT_MODE"));
        assert!(refused(&[mode("maybe")]).contains("mock, real"));
    }

    #[test]
    fn refusals_name_the_variable_and_show_no_secret() {
        let url = ("REWARD_URL", "http://127.0.0.1:1/grants");
        let fixed = ("REWARD_TOKEN", "secret");
        assert!(refused(&[url]).starts_with("REWARD_TOKEN="));
        for pairs in [
            &[url, fixed, ("REWARD_TOKEN_FILE", "/token")][..],
            &[url, ("REWARD_TOKEN", "secret\nsecret")],
            &[("REWARD_URL", "http://me:secret@rewards/"), fixed],
        ] {
            let message = refused(pairs);
            assert!(message.starts_with("REWARD") && !message.contains("secret"), "{message}");
        }
        assert!(refused(&[("REWARD_URL", "rewards"), fixed]).starts_with("REWARD_URL=\"rewards\""));
        assert!(refused(&[url, fixed, ("REWARD_ATTEMPTS", "0")]).starts_with("REWARD_ATTEMPTS"));
    }

    #[test]
    fn a_grant_takes_bounded_time() {
        let pairs = [("REWARD_URL", "http://127.0.0.1:1/grants"), ("REWARD_TOKEN", "t")];
        let settings = read(&Env::from_pairs(pairs)).unwrap().unwrap();
        assert_eq!(settings.max_duration(), Duration::from_secs(14));
        let env = Env::from_pairs([("CLAIM_RESUME_S", "1")]);
        let policy = claim_policy(&env, "ours", Some(&settings), 512).unwrap();
        let (period, max_duration) = (policy.period, policy.terms.max_duration);
        assert_eq!((period, max_duration), (Duration::from_secs(1), Duration::from_secs(14)));
        assert_eq!(policy.in_flight, 128);
    }
}
