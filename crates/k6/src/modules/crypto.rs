//! `k6/crypto`: digests of data, with and without a key.

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest as sha1};
use md4::Md4;
use md5::Md5;
use ripemd::Ripemd160;
use sha2::{Digest, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use crate::js::{Call, Scope, Shared, Thrown, Value};
use crate::modules::bytes;
use crate::modules::defining::add;

/// The most that `randomBytes` makes at once.
const MOST_RANDOM_BYTES: f64 = (16 << 20) as f64;

/// A digest.
#[derive(Debug, Clone, Copy)]
struct Algorithm {
    name: &'static str,
    /// How many bytes it takes at once.
    block_bytes: usize,
    digest: fn(&[u8]) -> Vec<u8>,
}

const ALGORITHMS: [Algorithm; 9] = [
    Algorithm { name: "md4", block_bytes: 64, digest: |data| Md4::digest(data).to_vec() },
    Algorithm { name: "ripemd160", block_bytes: 64, digest: |data| Ripemd160::digest(data).to_vec() },
    Algorithm { name: "md5", block_bytes: 64, digest: |data| Md5::digest(data).to_vec() },
    Algorithm {
        name: "sha1",
        block_bytes: 64,
        digest: |data| sha1(&SHA1_FOR_LEGACY_USE_ONLY, data).as_ref().to_vec(),
    },
    Algorithm { name: "sha256", block_bytes: 64, digest: |data| Sha256::digest(data).to_vec() },
    Algorithm { name: "sha384", block_bytes: 128, digest: |data| Sha384::digest(data).to_vec() },
    Algorithm { name: "sha512", block_bytes: 128, digest: |data| Sha512::digest(data).to_vec() },
    Algorithm { name: "sha512_224", block_bytes: 128, digest: |data| Sha512_224::digest(data).to_vec() },
    Algorithm { name: "sha512_256", block_bytes: 128, digest: |data| Sha512_256::digest(data).to_vec() },
];

impl Algorithm {
    fn named(scope: Scope<'_>, name: &str) -> Result<Algorithm, Thrown> {
        let known = ALGORITHMS.iter().find(|algorithm| algorithm.name == name).copied();
        known.ok_or_else(|| scope.throw(&format!("invalid algorithm: {name}")))
    }

    /// The code that authenticates data by a key: RFC 2104.
    fn hmac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        let mut block = if key.len() > self.block_bytes { (self.digest)(key) } else { key.to_vec() };
        block.resize(self.block_bytes, 0);
        let keyed = |with: u8, data: &[u8]| {
            let all: Vec<u8> = block.iter().map(|byte| byte ^ with).chain(data.iter().copied()).collect();
            (self.digest)(&all)
        };
        keyed(0x5c, &keyed(0x36, data))
    }
}

/// What `createHash` and `createHMAC` return.
struct Hasher {
    algorithm: Algorithm,
    /// The key of an HMAC.
    key: Option<Vec<u8>>,
    data: RefCell<Vec<u8>>,
}

impl Shared for Hasher {
    const CLASS: &'static CStr = c"Hasher";
}

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let prototype = scope.object();
    add(&prototype, "update", 1, update)?;
    add(&prototype, "digest", 1, digest)?;
    scope.set_class_prototype::<Hasher>(prototype)?;
    let exports = scope.object();
    add(&exports, "md4", 2, |call| hash(call, "md4"))?;
    add(&exports, "md5", 2, |call| hash(call, "md5"))?;
    add(&exports, "sha1", 2, |call| hash(call, "sha1"))?;
    add(&exports, "sha256", 2, |call| hash(call, "sha256"))?;
    add(&exports, "sha384", 2, |call| hash(call, "sha384"))?;
    add(&exports, "sha512", 2, |call| hash(call, "sha512"))?;
    add(&exports, "sha512_224", 2, |call| hash(call, "sha512_224"))?;
    add(&exports, "sha512_256", 2, |call| hash(call, "sha512_256"))?;
    add(&exports, "ripemd160", 2, |call| hash(call, "ripemd160"))?;
    add(&exports, "hmac", 4, hmac)?;
    add(&exports, "createHash", 1, create_hash)?;
    add(&exports, "createHMAC", 2, create_hmac)?;
    add(&exports, "randomBytes", 1, random_bytes)?;
    add(&exports, "hexEncode", 1, |call| {
        Ok(call.scope().string(&hex::encode(bytes::given(&call.argument(0))?)))
    })?;
    Ok(exports)
}

fn hash<'js>(call: &Call<'js, '_>, name: &str) -> Result<Value<'js>, Thrown> {
    let algorithm = Algorithm::named(call.scope(), name)?;
    let digest = (algorithm.digest)(&bytes::given(&call.argument(0))?);
    bytes::encoded(call.scope(), &digest, &call.argument(1))
}

/// `hmac(algorithm, key, data, form)`.
fn hmac<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let algorithm = Algorithm::named(call.scope(), &call.argument(0).text()?)?;
    let (key, data) = (bytes::given(&call.argument(1))?, bytes::given(&call.argument(2))?);
    bytes::encoded(call.scope(), &algorithm.hmac(&key, &data), &call.argument(3))
}

fn create_hash<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let algorithm = Algorithm::named(call.scope(), &call.argument(0).text()?)?;
    call.scope().hold(Rc::new(Hasher { algorithm, key: None, data: RefCell::default() }))
}

fn create_hmac<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let algorithm = Algorithm::named(call.scope(), &call.argument(0).text()?)?;
    let key = Some(bytes::given(&call.argument(1))?);
    call.scope().hold(Rc::new(Hasher { algorithm, key, data: RefCell::default() }))
}

fn hasher(call: &Call<'_, '_>) -> Result<Rc<Hasher>, Thrown> {
    let missing =
        || call.scope().throw_type_error("update() and digest() are called on what createHash() returned");
    call.this().held::<Hasher>().ok_or_else(missing)
}

fn update<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let hasher = hasher(call)?;
    hasher.data.borrow_mut().extend(bytes::given(&call.argument(0))?);
    Ok(call.scope().undefined())
}

fn digest<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let hasher = hasher(call)?;
    // Making a text of the form may run code that adds data.
    let form = call.argument(0);
    let form = if form.is_nullish() { form } else { call.scope().string(&form.text()?) };
    let data = hasher.data.borrow();
    let digest = match &hasher.key {
        Some(key) => hasher.algorithm.hmac(key, &data),
        None => (hasher.algorithm.digest)(&data),
    };
    bytes::encoded(call.scope(), &digest, &form)
}

/// `randomBytes(size)`, from the system: a script asks for numbers that cannot be foreseen.
fn random_bytes<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let size = call.argument(0).as_number()?.trunc();
    if !(1.0..=MOST_RANDOM_BYTES).contains(&size) {
        return Err(scope.throw("invalid size"));
    }
    let mut bytes = vec![0; size as usize];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| scope.throw("the system gives no random bytes"))?;
    Ok(scope.array_buffer(&bytes))
}
