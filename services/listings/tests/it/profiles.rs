//! Profiles of the process on the operators' port, and what `/metrics` says of it and of calls.

use peers::service::assert_no_profiles;

use crate::process::Process;
use crate::test_store::TestStore;

#[test]
fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = Process::start(&TestStore::new());
    assert_no_profiles(process.addresses.http);
}

#[tokio::test]
async fn calls_are_counted_under_the_customary_names_by_code() {
    let process = Process::start(&TestStore::new());
    let mut client = crate::support::Client::connect(process.addresses.grpc).await;
    client.stats(3).await;
    client.product(1).await.unwrap_err();
    let metrics = String::from_utf8(peers::go::get(process.addresses.http, "/metrics").unwrap()).unwrap();
    for (method, code) in [("GetProductStats", "OK"), ("GetProduct", "NotFound")] {
        let labels = format!(
            r#"grpc_type="unary",grpc_service="listingssvc.v1.ListingsService",grpc_method="{method}""#
        );
        for line in [
            format!("grpc_server_started_total{{{labels}}} 1"),
            format!(r#"grpc_server_handled_total{{{labels},grpc_code="{code}"}} 1"#),
        ] {
            assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
        }
    }
}

#[cfg(feature = "profiling")]
mod built_in {
    use std::process::Stdio;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use peers::service::Profiles;

    use super::*;
    use crate::process::serve_command;
    use crate::support::Client;

    #[tokio::test]
    async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
        let store = TestStore::new();
        let mut command = serve_command(&store);
        let process =
            Process::spawn(command.envs([("PROFILING", "on"), ("PROFILING_BYTES", "4096")]), Stdio::null());
        let (admin, is_over) = (process.addresses.http, Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&is_over);
        let profiles = tokio::task::spawn_blocking(move || Profiles::of(admin, &ends));
        let client = Client::connect(process.addresses.grpc).await;
        let load = async || {
            let mut client = client.clone();
            while !is_over.load(Ordering::Relaxed) {
                client.stats(3).await;
            }
        };
        tokio::join!(load(), load(), load(), load());
        profiles.await.unwrap().unwrap().assert_named("listings::", "listings::grpc::");
    }
}
