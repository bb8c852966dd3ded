//! Server reflection, so that `grpcurl` and its like need no files: a port shows the services that it serves.

use tonic::service::Routes;
use tonic_reflection::server::Builder;

const DESCRIPTORS: &str = "the build wrote the descriptors";

/// Adds both versions of reflection, which show `services` (an encoded `FileDescriptorSet`), health and themselves.
#[must_use]
pub fn add(routes: Routes, services: &'static [u8]) -> Routes {
    let shown = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(services)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let now = shown().build_v1().expect(DESCRIPTORS);
    let before = shown().build_v1alpha().expect(DESCRIPTORS);
    routes.add_service(now).add_service(before)
}
