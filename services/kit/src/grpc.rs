//! What gRPC ports share: health, reflection, the refusal under overload, the caller's timeout, and the outcome of a call
//! for metrics.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use tonic::Status;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::{HealthReporter, health_reporter};
use tonic_reflection::server::Builder;

use crate::serve::{GatePolicy, HEALTH_PATH};

/// The descriptors of the health service, as an encoded `FileDescriptorSet`.
pub const HEALTH: &[u8] = tonic_health::pb::FILE_DESCRIPTOR_SET;

const DESCRIPTORS: &str = "the build wrote the descriptors";

/// The health that a port reports of its services.
#[derive(Debug, Clone)]
pub struct PortHealth {
    reporter: HealthReporter,
    services: &'static [&'static str],
}

impl PortHealth {
    /// Health in which the process and these services serve, and the service that answers with it.
    pub async fn serving(services: &'static [&'static str]) -> (Self, HealthServer<impl Health>) {
        let (reporter, server) = health_reporter();
        let health = Self { reporter, services };
        health.set(ServingStatus::Serving).await;
        (health, server)
    }

    /// Reports from now on that they do not serve: clients call other processes while this one drains.
    pub async fn stop_serving(&self) {
        self.set(ServingStatus::NotServing).await;
    }

    async fn set(&self, status: ServingStatus) {
        // The empty name means the process.
        for service in self.services.iter().chain([&""]) {
            self.reporter.set_service_status(*service, status).await;
        }
    }
}

/// The gate of a gRPC port: health is answered under any load.
#[must_use]
pub const fn gate_policy(metric: &'static str, refusal: fn() -> Response) -> GatePolicy {
    GatePolicy { metric, is_exempt: |path| path.starts_with(HEALTH_PATH), refusal }
}

/// Adds both versions of server reflection, so that tools such as `grpcurl` need no files. They describe `services` (an
/// encoded `FileDescriptorSet`), health and themselves.
///
/// # Panics
/// When `services` is not a descriptor set: it is written by the build.
#[must_use]
pub fn with_reflection(routes: Routes, services: &'static [u8]) -> Routes {
    let builder = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(services)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let v1 = builder().build_v1().expect(DESCRIPTORS);
    let v1alpha = builder().build_v1alpha().expect(DESCRIPTORS);
    routes.add_service(v1).add_service(v1alpha)
}

/// The timeout in the header `grpc-timeout`: up to eight digits and a unit.
#[must_use]
pub fn requested_timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

/// The outcome of a call, for metrics. A refusal has its code in the response's head; a response without one there is a
/// success, whose code follows its message.
#[must_use]
pub fn outcome(response: &Response) -> &'static str {
    let code = response.headers().get(Status::GRPC_STATUS).map_or(&b"0"[..], |value| value.as_bytes());
    match code {
        b"0" => "ok",
        b"3" => "invalid_argument",
        b"4" => "deadline_exceeded",
        b"5" => "not_found",
        b"6" => "already_exists",
        b"7" => "permission_denied",
        b"8" => "resource_exhausted",
        b"9" => "failed_precondition",
        b"12" => "unimplemented",
        b"13" => "internal",
        b"14" => "unavailable",
        b"16" => "unauthenticated",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_grpc_writes_them() {
        let read = |text: &str| {
            requested_timeout(&HeaderMap::from_iter([(
                "grpc-timeout".parse().unwrap(),
                text.parse().unwrap(),
            )]))
        };
        for (text, ms) in [("5S", 5_000), ("250m", 250), ("99999999H", 99_999_999 * 3_600_000), ("2000u", 2)]
        {
            assert_eq!(read(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "S", "5", "5s", "-5S", "100000000S", "5 S"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
