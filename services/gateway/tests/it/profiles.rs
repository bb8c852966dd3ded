//! Profiles of the process on the admin port, and what `/metrics` says of it.

use testkit::profiles;

use crate::process::started;

#[test]
fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = started(&[]);
    profiles::assert_no_profiles(process.address("admin"));
}

#[cfg(feature = "profiling")]
mod built_in {
    use std::sync::Arc;

    use axum::body::Body;
    use gateway::settings::Settings;
    use hyper::service::Service as _;
    use hyper::{Request, StatusCode};
    use hyper_util::service::TowerToHyperService;
    use kit::auth::Identity;
    use kit::env::Env;
    use kit::metrics::Metrics;
    use kit::serve::Peer;
    use testkit::issuer::{KeyServer, Signer, claims};

    use super::*;
    use crate::access::ROLES;
    use crate::support::{sample, send};

    /// The statuses of every profile for a caller at this address.
    async fn statuses(identity: &Arc<Identity>, address: &str, tokens: &[String]) -> Vec<StatusCode> {
        let routes = TowerToHyperService::new(kit::profiling::routes(Arc::clone(identity)));
        let mut statuses = Vec::new();
        for path in ["", "/", "/heap?debug=1", "/allocs?debug=1", "/profile?seconds=0"] {
            let mut request = Request::get(format!("/debug/pprof{path}"));
            for token in tokens {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            let mut request = request.body(Body::empty()).unwrap();
            request.extensions_mut().insert(Peer(address.parse().unwrap()));
            statuses.push(routes.call(request).await.unwrap().status());
        }
        statuses
    }

    #[tokio::test]
    async fn from_another_machine_profiles_are_for_administrators() {
        kit::profiling::start(&Env::from_pairs([("PROFILING", "on")])).unwrap();
        let signer = Signer::ec("e");
        let keys = KeyServer::start(&[&signer]).await;
        let settings =
            Settings::read(&Env::from_pairs([keys.settings().as_slice(), &ROLES].concat())).unwrap();
        let identity = Identity::start(settings.tokens, settings.roles, &Metrics::new("gateway"));
        let identity = Arc::new(identity);
        identity.ready().await;
        let token = |subject: &str| signer.token(&claims(subject));
        let allowed = [StatusCode::OK; 4].into_iter().chain([StatusCode::BAD_REQUEST]).collect::<Vec<_>>();
        for address in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(statuses(&identity, address, &[]).await, allowed, "{address}");
        }
        let forged = Signer::ec("e").token(&claims("operator"));
        for address in ["192.0.2.1:1", "[2001:db8::1]:1"] {
            assert_eq!(statuses(&identity, address, &[token("operator")]).await, allowed, "{address}");
            for (tokens, refusal) in [
                (vec![], StatusCode::UNAUTHORIZED),
                (vec![token("d-1")], StatusCode::FORBIDDEN),
                (vec![token("loader")], StatusCode::FORBIDDEN),
                (vec![forged.clone()], StatusCode::UNAUTHORIZED),
                (vec![token("operator"), token("operator")], StatusCode::UNAUTHORIZED),
            ] {
                assert_eq!(statuses(&identity, address, &tokens).await, [refusal; 5], "{address} {tokens:?}");
            }
        }
    }

    #[tokio::test]
    async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
        let process = started(&profiles::ON);
        let client = process.client();
        let call = async || drop(send(client, &sample("a", 1.5, "LOW")).await);
        profiles::assert_named(process.address("admin"), "gateway::", "gateway::http::", call).await;
    }
}
