//! Profiles of the process on the admin port, and what `/metrics` says of it.

use testkit::data::TestDatabase;
#[cfg(feature = "profiling")]
use testkit::process::Process;
use testkit::profiles;

#[cfg(feature = "profiling")]
use crate::process::serving;
use crate::process::started;
#[cfg(feature = "profiling")]
use crate::support::Player;

#[test]
fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = started(&TestDatabase::new(), &[]);
    profiles::assert_no_profiles(process.address("admin"));
}

#[cfg(feature = "profiling")]
#[tokio::test]
async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
    let process = Process::start(serving(&TestDatabase::new()).envs(profiles::ON));
    let player = Player::new(process.address("http"), "ann");
    let call = async || drop(player.get("/challenge/v1/challenges").await);
    profiles::assert_named(process.address("admin"), "challenge::", "challenge::http::", call).await;
}
