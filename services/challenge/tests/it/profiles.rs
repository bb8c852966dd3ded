//! Profiles of the process on the admin port, and what `/metrics` says of it.

use peers::service::assert_no_profiles;

use crate::database::TestDatabase;
use crate::process::Process;

#[test]
fn without_the_variable_there_are_no_profiles_and_the_process_is_described() {
    let process = Process::start_with(&TestDatabase::new(), &[]);
    assert_no_profiles(process.addresses.admin);
}

#[cfg(feature = "profiling")]
mod built_in {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use peers::service::Profiles;

    use super::*;
    use crate::support::Player;

    #[tokio::test]
    async fn profiles_under_load_name_the_functions_of_the_service_for_go_tool_pprof() {
        let on = [("PROFILING", "on".to_owned()), ("PROFILING_BYTES", "4096".to_owned())];
        let process = Process::start_with(&TestDatabase::new(), &on);
        let (admin, is_over) = (process.addresses.admin, Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&is_over);
        let profiles = tokio::task::spawn_blocking(move || Profiles::of(admin, &ends));
        let player = Player::new(process.addresses.http.unwrap(), "ann");
        let load = async || {
            while !is_over.load(Ordering::Relaxed) {
                player.get("/challenge/v1/challenges").await;
            }
        };
        tokio::join!(load(), load(), load(), load());
        profiles.await.unwrap().unwrap().assert_named("challenge::", "challenge::http::");
    }
}
