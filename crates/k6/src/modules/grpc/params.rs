//! Params of `connect` and `invoke`.

use std::cell::Cell;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use workload::TlsFiles;

use crate::grpc::{CALL_TIMEOUT, CONNECT_TIMEOUT, GrpcConnection, MOST_RECEIVED_BYTES};
use crate::js::{Thrown, Value};
use crate::modules::defining::tags;

/// What `connect` was called with.
pub(super) struct Connecting {
    pub(super) connection: GrpcConnection,
    pub(super) timeout: Duration,
    /// The metadata with which the server is asked to describe itself; none where it is not.
    pub(super) reflecting: Option<Vec<(String, String)>>,
}

/// What `invoke` was called with.
pub(super) struct Invoking {
    pub(super) timeout: Duration,
    pub(super) name: Option<String>,
    pub(super) tags: Vec<(String, String)>,
    pub(super) metadata: Vec<(String, String)>,
    /// Whether the message of the response is discarded.
    pub(super) discards: bool,
}

/// One of the params of a function.
struct Param<'js> {
    name: String,
    value: Value<'js>,
    /// What its errors begin with.
    function: &'static str,
}

/// The params of a function; none where no object is given.
fn params<'js>(given: &Value<'js>, function: &'static str) -> Result<Vec<Param<'js>>, Thrown> {
    let names = if given.is_object() { given.keys()? } else { Vec::new() };
    names.into_iter().map(|name| Ok(Param { value: given.get(&name)?, name, function })).collect()
}

/// The params of `connect`.
///
/// # Errors
/// Which of them is wrong.
pub(super) fn connecting(address: &Value<'_>, given: &Value<'_>) -> Result<Connecting, Thrown> {
    let scope = given.scope();
    let address = if address.is_nullish() { String::new() } else { address.text()?.to_string() };
    let (mut most_received, mut most_sent, mut timeout) = (MOST_RECEIVED_BYTES, None, CONNECT_TIMEOUT);
    let (mut scheme, mut reflects, mut metadata, mut tls) = ("https", false, Vec::new(), None);
    for param in params(given, "invalid grpc.connect() parameters")? {
        match param.name.as_str() {
            "plaintext" => scheme = if param.boolean()? { "http" } else { "https" },
            "tls" => tls = param.tls()?,
            "reflect" => reflects = param.boolean()?,
            "reflectMetadata" => metadata = param.metadata()?,
            "timeout" => timeout = param.timeout(CONNECT_TIMEOUT)?,
            "maxReceiveSize" => most_received = param.size()?,
            "maxSendSize" => most_sent = Some(param.size()?),
            "authority" => return Err(param.wrong("the connect param authority is not supported")),
            name => return Err(param.wrong(&format!("unknown connect param: \"{name}\""))),
        }
    }
    require_port(&address).map_err(|why| {
        scope.throw(&format!("connection error: desc = \"transport: error while dialing: {why}\""))
    })?;
    let url = format!("{scheme}://{address}");
    let tls = tls.filter(|_| scheme == "https");
    let connection = GrpcConnection { address, url, tls, met: Cell::new(None), most_received, most_sent };
    Ok(Connecting { connection, timeout, reflecting: reflects.then_some(metadata) })
}

/// Check that an address is `host:port`.
fn require_port(address: &str) -> Result<(), String> {
    if address.is_empty() {
        return Err("missing port in address".to_owned());
    }
    let host = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => return Err(format!("address {address}: missing port in address")),
    };
    if host.contains(':') && !host.starts_with('[') {
        return Err(format!("address {address}: too many colons in address"));
    }
    Ok(())
}

/// The params of `invoke`.
///
/// # Errors
/// Which of them is wrong.
pub(super) fn invoking(given: &Value<'_>) -> Result<Invoking, Thrown> {
    let mut invoking = Invoking {
        timeout: CALL_TIMEOUT,
        name: None,
        tags: Vec::new(),
        metadata: Vec::new(),
        discards: false,
    };
    for param in params(given, "invalid GRPC's client.invoke() parameters")? {
        match param.name.as_str() {
            "metadata" => invoking.metadata = param.metadata()?,
            "tags" => {
                invoking.tags = param.tags()?;
                let named = invoking.tags.iter().position(|(name, _)| name == "name");
                invoking.name = named.map(|at| invoking.tags.remove(at).1);
            }
            "timeout" => invoking.timeout = param.timeout(CALL_TIMEOUT)?,
            "discardResponseMessage" => invoking.discards = param.boolean()?,
            name => return Err(param.wrong(&format!("unknown param: \"{name}\""))),
        }
    }
    Ok(invoking)
}

impl Param<'_> {
    fn wrong(&self, why: &str) -> Thrown {
        self.value.scope().throw(&format!("{}: {why}", self.function))
    }

    /// That its value is not what it should be; `shown` is the value.
    fn wrong_value(&self, shown: &str, expected: &str) -> Thrown {
        self.wrong(&format!("invalid {} value: '{shown}, {expected}", self.name))
    }

    /// Its value as errors show it.
    fn shown(&self) -> Result<String, Thrown> {
        Ok(self.value.json()?.unwrap_or_else(|| "null".to_owned()))
    }

    fn boolean(&self) -> Result<bool, Thrown> {
        if self.value.is_boolean() {
            return Ok(self.value.is_truthy());
        }
        Err(self.wrong_value(&format!("{}'", self.shown()?), "it needs to be boolean"))
    }

    /// A number of bytes.
    fn size(&self) -> Result<usize, Thrown> {
        if !self.value.is_number() || self.value.as_number()?.fract() != 0.0 {
            return Err(self.wrong_value(&format!("{}'", self.shown()?), "it needs to be an integer"));
        }
        let bytes = self.value.as_number()?;
        if bytes < 0.0 {
            // Without the second quote, as k6 has it.
            return Err(self.wrong_value(&bytes.to_string(), "it needs to be a positive integer"));
        }
        Ok(bytes as usize)
    }

    /// A number of milliseconds, or a text such as `1m30s`; 0 is the default.
    fn timeout(&self, default: Duration) -> Result<Duration, Thrown> {
        let value = &self.value;
        let time = if value.is_number() {
            let milliseconds = value.as_number()?;
            let time = Duration::try_from_secs_f64(milliseconds / 1e3);
            time.map_err(|_| format!("{milliseconds} is not positive"))
        } else if value.is_string() {
            let text = value.text()?.to_string();
            let time = crate::duration::parse(&text);
            time.ok_or_else(|| format!("time: invalid duration \"{text}\""))
        } else {
            Err(format!("unable to use {} as a duration value", self.shown()?))
        };
        let time = time.map_err(|why| self.wrong(&format!("invalid timeout value: {why}")))?;
        Ok(if time.is_zero() { default } else { time })
    }

    /// Names, which become lower case, and values: texts, or bytes where the name ends with `-bin`.
    fn metadata(&self) -> Result<Vec<(String, String)>, Thrown> {
        if self.value.is_nullish() {
            return Ok(Vec::new());
        }
        let wrong = |why: String| self.wrong(&format!("invalid {} param: {why}", self.name));
        if !self.value.is_object() {
            return Err(wrong("must be an object with key-value pairs".to_owned()));
        }
        let mut metadata = Vec::new();
        for name in self.value.keys()? {
            let one = self.value.get(&name)?;
            let text = match (name.ends_with("-bin"), one.bytes()) {
                (true, Some(bytes)) => STANDARD_NO_PAD.encode(&bytes),
                (true, None) => return Err(wrong(format!("\"{name}\" value must be binary"))),
                (false, _) if one.is_string() => one.text()?.to_string(),
                (false, _) => return Err(wrong(format!("\"{name}\" value must be a string"))),
            };
            metadata.push((name.to_ascii_lowercase(), text));
        }
        Ok(metadata)
    }

    fn tags(&self) -> Result<Vec<(String, String)>, Thrown> {
        tags(&self.value, |why| self.wrong(&format!("metric tags: {why}")))
    }

    /// Authorities and the client's certificate, as texts in PEM.
    fn tls(&self) -> Result<Option<TlsFiles>, Thrown> {
        let given = &self.value;
        if given.is_nullish() {
            return Ok(None);
        }
        if !given.is_object() {
            let expected = "expected (optional) keys: cert, key, password, and cacerts";
            return Err(self.wrong_value(&format!("{}'", self.shown()?), expected));
        }
        if !given.get("password")?.is_nullish() {
            return Err(self.wrong("tls.password is not supported: give the key without one"));
        }
        let pem = |name: &str| {
            let one = given.get(name)?;
            match one.is_string() {
                true => Ok(Some(one.text()?.as_bytes().to_vec())),
                false if one.is_nullish() => Ok(None),
                false => Err(self.wrong_value(
                    &format!("{}'", self.shown()?),
                    &format!("its {name} needs to be a PEM formatted string"),
                )),
            }
        };
        let cacerts = given.get("cacerts")?;
        let ca = if cacerts.is_array() {
            let mut all = Vec::new();
            for index in 0..cacerts.length()? {
                all.extend_from_slice(cacerts.at(index)?.text()?.as_bytes());
                all.push(b'\n');
            }
            Some(all)
        } else {
            pem("cacerts")?
        };
        Ok(Some(TlsFiles { ca, cert: pem("cert")?, key: pem("key")? }))
    }
}
