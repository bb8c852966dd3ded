//! Params of `connect` and `invoke`.

use std::time::Duration;

use crate::grpc::{CALL_TIMEOUT, CONNECT_TIMEOUT, GrpcConnection, MOST_RECEIVED_BYTES, Reading};
use crate::js::{Thrown, Value};
use crate::modules::defining::{base64, tags};

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
    /// How the response is read where the script does not want its message.
    pub(super) discards: Option<Reading>,
}

/// The params of `connect`.
///
/// # Errors
/// Which of them is wrong.
pub(super) fn connecting(address: &Value<'_>, params: &Value<'_>) -> Result<Connecting, Thrown> {
    let scope = params.scope();
    let wrong = |why: String| scope.throw(&format!("invalid grpc.connect() parameters: {why}"));
    let address = if address.is_nullish() { String::new() } else { address.text()?.to_string() };
    let mut connecting = Connecting {
        connection: GrpcConnection {
            address,
            origin: String::new(),
            most_received: MOST_RECEIVED_BYTES,
            most_sent: None,
        },
        timeout: CONNECT_TIMEOUT,
        reflecting: None,
    };
    let (mut is_plaintext, mut reflects, mut reflect_metadata) = (false, false, Vec::new());
    for name in keys(params)? {
        let value = params.get(&name)?;
        match name.as_str() {
            "plaintext" => is_plaintext = boolean(&name, &value).map_err(|why| wrong(why))?,
            "reflect" => reflects = boolean(&name, &value).map_err(|why| wrong(why))?,
            "reflectMetadata" => {
                reflect_metadata = metadata("reflectMetadata", &value)?.map_err(|why| wrong(why))?;
            }
            "timeout" => connecting.timeout = timeout(&value, CONNECT_TIMEOUT)?.map_err(|why| wrong(why))?,
            "maxReceiveSize" => {
                connecting.connection.most_received = size(&name, &value)?.map_err(|why| wrong(why))?;
            }
            "maxSendSize" => {
                connecting.connection.most_sent = Some(size(&name, &value)?.map_err(|why| wrong(why))?);
            }
            "tls" | "authority" => return Err(wrong(format!("the connect param {name} is not supported"))),
            _ => return Err(wrong(format!("unknown connect param: \"{name}\""))),
        }
    }
    let dialing = |why: String| {
        scope.throw(&format!("connection error: desc = \"transport: error while dialing: {why}\""))
    };
    require_port(&connecting.connection.address).map_err(dialing)?;
    let scheme = if is_plaintext { "http" } else { "https" };
    connecting.connection.origin = format!("{scheme}://{}", connecting.connection.address);
    connecting.reflecting = reflects.then_some(reflect_metadata);
    Ok(connecting)
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
pub(super) fn invoking(params: &Value<'_>) -> Result<Invoking, Thrown> {
    let scope = params.scope();
    let wrong = |why: String| scope.throw(&format!("invalid GRPC's client.invoke() parameters: {why}"));
    let mut invoking = Invoking {
        timeout: CALL_TIMEOUT,
        name: None,
        tags: Vec::new(),
        metadata: Vec::new(),
        discards: None,
    };
    for name in keys(params)? {
        let value = params.get(&name)?;
        match name.as_str() {
            "metadata" => invoking.metadata = metadata("metadata", &value)?.map_err(|why| wrong(why))?,
            "tags" => {
                invoking.tags = metric_tags(&value)?.map_err(|why| wrong(why))?;
                let named = invoking.tags.iter().position(|(name, _)| name == "name");
                invoking.name = named.map(|at| invoking.tags.remove(at).1);
            }
            "timeout" => invoking.timeout = timeout(&value, CALL_TIMEOUT)?.map_err(|why| wrong(why))?,
            "discardResponseMessage" => {
                invoking.discards =
                    boolean(&name, &value).map_err(|why| wrong(why))?.then_some(Reading::Discarded);
            }
            _ => return Err(wrong(format!("unknown param: \"{name}\""))),
        }
    }
    Ok(invoking)
}

/// The names of params; none where none are given.
fn keys(params: &Value<'_>) -> Result<Vec<String>, Thrown> {
    if params.is_object() { params.keys() } else { Ok(Vec::new()) }
}

/// A value as errors show it.
fn shown(value: &Value<'_>) -> Result<String, Thrown> {
    Ok(value.json()?.unwrap_or_else(|| "null".to_owned()))
}

fn boolean(name: &str, value: &Value<'_>) -> Result<bool, String> {
    if value.is_boolean() {
        return Ok(value.is_truthy());
    }
    Err(format!("invalid {name} value: '{}', it needs to be boolean", shown(value).unwrap_or_default()))
}

/// A number of bytes.
fn size(name: &str, value: &Value<'_>) -> Result<Result<usize, String>, Thrown> {
    if !value.is_number() || value.as_number()?.fract() != 0.0 {
        return Ok(Err(format!("invalid {name} value: '{}', it needs to be an integer", shown(value)?)));
    }
    let bytes = value.as_number()?;
    if bytes < 0.0 {
        return Ok(Err(format!("invalid {name} value: '{bytes}, it needs to be a positive integer")));
    }
    Ok(Ok(bytes as usize))
}

/// A number of milliseconds, or a text such as `1m30s`; 0 is the default.
fn timeout(value: &Value<'_>, default: Duration) -> Result<Result<Duration, String>, Thrown> {
    let time = if value.is_number() {
        let milliseconds = value.as_number()?;
        let time = Duration::try_from_secs_f64(milliseconds / 1e3);
        time.map_err(|_| format!("invalid timeout value: {milliseconds} is not positive"))
    } else if value.is_string() {
        let text = value.text()?.to_string();
        let time = crate::duration::parse(&text);
        time.ok_or_else(|| format!("invalid timeout value: time: invalid duration \"{text}\""))
    } else {
        Err(format!("invalid timeout value: unable to use {} as a duration value", shown(value)?))
    };
    Ok(time.map(|time| if time.is_zero() { default } else { time }))
}

/// Names, which become lower case, and values: texts, or bytes where the name ends with `-bin`.
fn metadata(param: &str, value: &Value<'_>) -> Result<Result<Vec<(String, String)>, String>, Thrown> {
    if value.is_nullish() {
        return Ok(Ok(Vec::new()));
    }
    if !value.is_object() {
        return Ok(Err(format!("invalid {param} param: must be an object with key-value pairs")));
    }
    let mut metadata = Vec::new();
    for name in value.keys()? {
        let one = value.get(&name)?;
        let text = match (name.ends_with("-bin"), one.bytes()) {
            (true, Some(bytes)) => base64(&bytes).trim_end_matches('=').to_owned(),
            (true, None) => {
                return Ok(Err(format!("invalid {param} param: \"{name}\" value must be binary")));
            }
            (false, _) if one.is_string() => one.text()?.to_string(),
            (false, _) => {
                return Ok(Err(format!("invalid {param} param: \"{name}\" value must be a string")));
            }
        };
        metadata.push((name.to_ascii_lowercase(), text));
    }
    Ok(Ok(metadata))
}

fn metric_tags(value: &Value<'_>) -> Result<Result<Vec<(String, String)>, String>, Thrown> {
    let names = keys(value)?;
    for name in &names {
        let one = value.get(name)?;
        if !(one.is_string() || one.is_boolean() || one.is_number()) {
            return Ok(Err(format!(
                "metric tags: invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag values"
            )));
        }
    }
    tags(value).map(Ok)
}
