//! Calls of gRPC whose address and method are written in another way.

use evidence::visible;

/// A method before the address.
pub(super) fn reversed(words: &[&str]) -> Option<String> {
    let [method, address, ..] = words else { return None };
    let is_method = method.contains('/') && !method.contains(':') && !method.starts_with('-');
    let is_address = address.contains(':') && !address.contains('/') && !address.starts_with('-');
    (is_method && is_address).then(|| {
        let (method, address) = (visible(method), visible(address));
        format!("the address comes first: `plimsoll grpc {address} {method}`")
    })
}

/// `HOST:PORT/SERVICE/METHOD`, which are two arguments.
pub(super) fn joined(address: &str) -> Option<String> {
    let scheme = address.find("://").map_or(0, |at| at + 3);
    let (authority, call) = address[scheme..].split_once('/').filter(|(_, call)| call.contains('/'))?;
    let (scheme, authority, call) = (&address[..scheme], visible(authority), visible(call));
    Some(format!("address and method are two arguments: `plimsoll grpc {scheme}{authority} {call}`"))
}
