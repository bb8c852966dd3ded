//! Where series of a run are sent while it goes on.

use conduct::run_request::OutTarget;
use export::Protocol;

/// `NAME=URL`. The names that k6 has for the same are known too, and OpenTelemetry's path is added where there is none.
pub(super) fn target(text: &str) -> Result<OutTarget, String> {
    let known = "expected prometheus-remote-write=URL or otlp=URL; `--json FILE` writes the report as JSON";
    let (name, url) = text.split_once('=').ok_or(known)?;
    let protocol = match name {
        "prometheus-remote-write" | "experimental-prometheus-rw" => Protocol::RemoteWrite,
        "otlp" | "opentelemetry" | "experimental-opentelemetry" => Protocol::Otlp,
        _ => return Err(known.to_owned()),
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let rest = rest.filter(|rest| !rest.is_empty());
    let rest =
        rest.ok_or("its URL begins with http:// or https://, such as http://127.0.0.1:9090/api/v1/write")?;
    let has_path = rest.split_once('/').is_some_and(|(_, path)| !path.is_empty());
    let url = match protocol {
        Protocol::Otlp if !has_path => format!("{}/v1/metrics", url.trim_end_matches('/')),
        _ => url.to_owned(),
    };
    Ok(OutTarget { protocol, url })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_tools_and_missing_paths_are_understood() {
        let of = |text: &str| target(text).map(|found| (found.protocol, found.url));
        let write = "http://127.0.0.1:9090/api/v1/write".to_owned();
        for name in ["prometheus-remote-write", "experimental-prometheus-rw"] {
            assert_eq!(of(&format!("{name}={write}")), Ok((Protocol::RemoteWrite, write.clone())));
        }
        for url in ["https://otel:4318", "https://otel:4318/", "https://otel:4318/v1/metrics"] {
            let expected = "https://otel:4318/v1/metrics".to_owned();
            assert_eq!(of(&format!("otlp={url}")), Ok((Protocol::Otlp, expected)));
        }
        for wrong in ["otlp", "otlp=", "otlp=otel:4318", "statsd=http://x"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
