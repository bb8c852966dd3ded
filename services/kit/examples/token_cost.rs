//! The cost of a bearer token: CPU time to verify a new one, and to recognise one that was verified before.
//!
//! `cargo run -p kit --example token_cost`. CPU time is the kernel's count for this thread, so that other load on the
//! machine does not affect it.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints figures, or cannot")]

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::auth::{Settings, Verifier};
use kit::clock::UtcMs;
use kit::env::Env;
use kit::metrics::Metrics;
use serde_json::{Value, json};

const TOKENS: usize = 4_000;
const REPEATS: usize = 25;

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

fn rsa() -> (Value, Sign) {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    // RSAPublicKey of 2048 bits: nine bytes of headers and sign, the modulus, then 65537.
    let modulus = URL_SAFE_NO_PAD.encode(&pair.public_key().as_ref()[9..265]);
    let sign = move |text: &[u8]| {
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature).unwrap();
        signature
    };
    (json!({"kty": "RSA", "kid": "RS256", "n": modulus, "e": "AQAB"}), Box::new(sign))
}

fn ec() -> (Value, Sign) {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let point = pair.public_key().as_ref().to_vec();
    let [x, y] = [&point[1..33], &point[33..]].map(|half| URL_SAFE_NO_PAD.encode(half));
    let sign = move |text: &[u8]| pair.sign(&SystemRandom::new(), text).unwrap().as_ref().to_vec();
    (json!({"kty": "EC", "crv": "P-256", "kid": "ES256", "x": x, "y": y}), Box::new(sign))
}

/// About 700 characters with RS256, as real issuers' tokens have.
fn token(alg: &str, sign: &Sign, number: usize) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let expires = UtcMs::now().0 / 1000 + 3600;
    let claims = json!({
        "iss": "i", "sub": format!("user-{number}"), "namespace": "ours", "exp": expires, "iat": expires - 3600,
        "permissions": ["play", "claim", "trade"], "client_id": "0123456789abcdef0123456789abcdef",
    });
    let signed = format!("{}.{}", part(json!({"alg": alg, "kid": alg, "typ": "JWT"})), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

async fn verify_all(verifier: &Verifier, tokens: &[String], times: usize) -> f64 {
    let before = cpu_ns();
    for token in std::iter::repeat_n(tokens, times).flatten() {
        verifier.verify(token).await.unwrap();
    }
    (cpu_ns() - before) as f64 / 1000.0 / (tokens.len() * times) as f64
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    for (alg, (jwk, sign)) in [("RS256", rsa()), ("ES256", ec())] {
        let path = std::env::temp_dir().join(format!("token-cost-{}.json", std::process::id()));
        std::fs::write(&path, json!({"keys": [jwk]}).to_string()).unwrap();
        let url = format!("file://{}", path.display());
        let env = Env::from_pairs([("AUTH_JWKS_URL", url.as_str()), ("AUTH_ISSUER", "i")]);
        let settings = Settings::read(&env, "ours").unwrap().unwrap();
        let verifier = Verifier::start(settings, &Metrics::new("cost"));
        verifier.ready().await;
        std::fs::remove_file(&path).unwrap();
        let tokens: Vec<String> = (0..TOKENS).map(|number| token(alg, &sign, number)).collect();
        let first = verify_all(&verifier, &tokens, 1).await;
        let again = verify_all(&verifier, &tokens, REPEATS).await;
        println!("{alg}: {first:.1} us a new token, {again:.2} us one seen before");
    }
}
