//! An issuer of tokens: generated keys, and a key server that can fail.

use std::sync::{Arc, Mutex};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256};
use aws_lc_rs::{hmac, signature};
use axum::http::StatusCode;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::clock::UtcMs;
use serde_json::{Value, json};

pub const ISSUER: &str = "https://issuer.test";

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
}

/// A key with its id.
pub struct Signer {
    pub id: String,
    pair: Pair,
}

impl Signer {
    pub fn rsa(id: &str) -> Self {
        Self { id: id.to_owned(), pair: Pair::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()) }
    }

    pub fn ec(id: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { id: id.to_owned(), pair: Pair::Ec(pair) }
    }

    fn alg(&self) -> &'static str {
        match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Ec(_) => "ES256",
        }
    }

    /// The public half as a JWKS lists it.
    pub fn jwk(&self) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match &self.pair {
            Pair::Rsa(_) => {
                json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.id, "n": encode(&self.public()), "e": "AQAB"})
            }
            Pair::Ec(_) => {
                let point = self.public();
                let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
                json!({"kty": "EC", "use": "sig", "crv": "P-256", "kid": self.id, "x": x, "y": y})
            }
        }
    }

    /// The modulus, or the uncompressed point.
    pub fn public(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Rsa(pair) => {
                let der = signature::KeyPair::public_key(pair).as_ref().to_vec();
                // RSAPublicKey of 2048 bits: nine bytes of headers and sign, the modulus, then 65537.
                assert_eq!((der.len(), &der[265..]), (270, &[2, 3, 1, 0, 1][..]));
                der[9..265].to_vec()
            }
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    pub fn token(&self, claims: &Value) -> String {
        self.token_as(&json!({"alg": self.alg(), "typ": "JWT", "kid": self.id}), claims)
    }

    pub fn token_as(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token signed with HMAC, with a public key as the shared secret.
    pub fn token_by_hmac(&self, secret: &[u8], claims: &Value) -> String {
        let signed = unsigned(&json!({"alg": "HS256", "kid": self.id}), claims);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    }
}

/// Header and claims, encoded for signing.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Valid claims of `user`, for an hour.
pub fn claims(user: &str) -> Value {
    let now = now_s();
    json!({"iss": ISSUER, "aud": "challenge", "sub": user, "namespace": "accelbyte", "iat": now, "exp": now + 3600})
}

/// The same with some of them changed, or removed by null.
pub fn claims_with(user: &str, changes: Value) -> Value {
    let mut claims = claims(user);
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

pub fn now_s() -> i64 {
    UtcMs::now().0 / 1000
}

struct KeyServerState {
    document: Value,
    is_down: bool,
    fetches: usize,
}

/// A key server on a port of its own.
#[derive(Clone)]
pub struct KeyServer {
    pub url: String,
    state: Arc<Mutex<KeyServerState>>,
}

impl KeyServer {
    pub async fn start(signers: &[&Signer]) -> Self {
        let state = KeyServerState { document: document(signers), is_down: false, fetches: 0 };
        let state = Arc::new(Mutex::new(state));
        let served = Arc::clone(&state);
        let answer = move || async move {
            let mut state = served.lock().unwrap();
            state.fetches += 1;
            let status = if state.is_down { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
            (status, state.document.to_string())
        };
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", socket.local_addr().unwrap());
        let routes = axum::Router::new().route("/keys", get(answer));
        tokio::spawn(async move { axum::serve(socket, routes).await.unwrap() });
        Self { url, state }
    }

    /// Replaces the keys.
    pub fn set_keys(&self, signers: &[&Signer]) {
        self.state.lock().unwrap().document = document(signers);
    }

    pub fn set_down(&self, is_down: bool) {
        self.state.lock().unwrap().is_down = is_down;
    }

    pub fn fetches(&self) -> usize {
        self.state.lock().unwrap().fetches
    }

    /// The settings of a service that trusts it.
    pub fn settings(&self) -> [(&str, &str); 4] {
        [
            ("TEST_IDENTITY_HEADER", "off"),
            ("AUTH_JWKS_URL", self.url.as_str()),
            ("AUTH_ISSUER", ISSUER),
            ("AUTH_AUDIENCE", "challenge"),
        ]
    }
}

fn document(signers: &[&Signer]) -> Value {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()})
}
