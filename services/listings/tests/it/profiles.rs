//! Profiles of the process on the operators' port, and what `/metrics` says of it and of calls.

use testkit::data::TestDatabase;
#[cfg(feature = "profiling")]
use testkit::process::Process;
use testkit::profiles;

#[cfg(feature = "profiling")]
use crate::process::serving;
use crate::process::started;
use crate::support::Client;

#[test]
fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = started(&TestDatabase::new());
    profiles::assert_no_profiles(process.address("admin"));
}

#[tokio::test]
async fn calls_are_counted_under_the_customary_names_by_code() {
    let process = started(&TestDatabase::new());
    let mut client = Client::connect(process.address("grpc")).await;
    client.stats(3).await;
    client.product(1).await.unwrap_err();
    let metrics = process.admin().text("/metrics").await;
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
#[tokio::test]
async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
    let process = Process::start(serving(&TestDatabase::new()).envs(profiles::ON));
    let client = Client::connect(process.address("grpc")).await;
    let call = async || {
        client.clone().stats(3).await;
    };
    profiles::assert_named(process.address("admin"), "listings::", "listings::grpc::", call).await;
}
