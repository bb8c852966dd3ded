//! How the tests are divided among jobs: which are about time, which run against a second store.

use anyhow::{Result, ensure};

use super::job::Job;
use crate::test::programs::TestProgram;

/// Some tests of a program.
struct Part {
    program: &'static str,
    /// Names of tests begin with one of these; all tests of the program where there is none.
    modules: &'static [&'static str],
}

/// Tests that measure time, memory or processors. They run when nothing else does.
const TIMED: &[Part] = &[
    Part { program: "engine::allocations", modules: &[] },
    Part {
        program: "engine::it",
        modules: &["lag::", "perturbed::", "pools::the_peers_limit", "stall::", "times::"],
    },
    Part { program: "fuzz::bounds", modules: &[] },
    Part {
        program: "plimsoll::it",
        modules: &[
            "capacity::trouble::a_full_disk_ends_the_search_with_an_error_and_it_can_be_judged_and_resumed",
            "capacity::trouble::a_number_of_which_a_higher_and_a_lower_one_break_is_no_capacity",
            "capacity::trouble::what_a_start_command_leaves_behind_ends_with_its_probe",
            "diagnose::a_pool_that_limits_is_confirmed_by_a_larger_one_and_not_by_what_changes_nothing",
            "exit_codes::verbs_that_experiment",
            "exit_codes::verbs_that_offer_load_or_watch",
            "experiments::a_candidate_that_fails_fails_the_experiment_and_its_pairs_without_a_time_are_counted",
            "memory::",
            "selftest::",
        ],
    },
];

/// Tests of services that run a second time, against PostgreSQL.
const SECOND_STORE: &[Part] = &[
    Part {
        program: "challenge::it",
        modules: &[
            "all_goals::",
            "bad_input::",
            "claims::",
            "clock::",
            "events::",
            "grpc::",
            "killed::",
            "pitfalls::",
            "players::",
            "publishers::",
            "recovery::",
            "rejected::",
            "rewards::",
            "rotation::",
            "rotation_killed::",
            "selection::",
            "tls::",
            "tokens::",
        ],
    },
    Part {
        program: "listings::it",
        modules: &[
            "bad_input::",
            "catalogue::",
            "categories::",
            "clock::",
            "favorites::",
            "http::",
            "interfaces::",
            "killed::",
            "limits::",
            "listings::",
            "rejected::",
            "search::",
            "similar::",
            "stock::",
            "tokens::",
            "visibility::",
        ],
    },
];
/// What makes them do so.
const WITH_POSTGRES: (&str, &str) = ("TEST_STORE", "postgres");

/// Programs that take longest begin first, so that no processor is idle at the end, with how many of their tests run at
/// once beside other programs: those that wait for other processes take more than one.
const LONGEST: &[(&str, usize)] =
    &[("plimsoll::it", 4), ("challenge::it", 2), ("listings::it", 2), ("engine::it", 2), ("fuzz::fixed", 2)];
const USUAL_THREADS: usize = 1;

/// The jobs that run side by side, and those that run alone.
///
/// # Errors
/// When a program of the tables is not among the test programs.
pub(super) fn jobs(programs: &[TestProgram]) -> Result<(Vec<Job<'_>>, Vec<Job<'_>>)> {
    let parts = TIMED.iter().chain(SECOND_STORE).map(|part| part.program);
    for name in parts.chain(LONGEST.iter().map(|(name, _)| *name)) {
        ensure!(programs.iter().any(|program| program.name == name), "there is no test program {name}");
    }
    let part = |parts: &'static [Part], program: &TestProgram| {
        parts.iter().find(|part| part.program == program.name)
    };
    let texts = |modules: &[&str]| modules.iter().map(|&module| module.to_owned()).collect::<Vec<_>>();
    let mut beside = Vec::new();
    let mut alone = Vec::new();
    for program in programs {
        let threads = LONGEST.iter().find(|(name, _)| *name == program.name);
        let threads = threads.map_or(USUAL_THREADS, |&(_, threads)| threads);
        let timed = part(TIMED, program);
        if let Some(timed) = timed {
            alone.push(Job { program, arguments: texts(timed.modules), variable: None, threads: 1 });
        }
        if timed.is_none_or(|timed| !timed.modules.is_empty()) {
            let modules = timed.map_or(&[][..], |timed| timed.modules);
            let arguments =
                modules.iter().flat_map(|&module| ["--skip".to_owned(), module.to_owned()]).collect();
            beside.push(Job { program, arguments, variable: None, threads });
        }
        if let Some(second) = part(SECOND_STORE, program) {
            let arguments = texts(second.modules);
            beside.push(Job { program, arguments, variable: Some(WITH_POSTGRES), threads });
        }
    }
    let place = |job: &Job<'_>| LONGEST.iter().position(|(name, _)| *name == job.program.name);
    beside.sort_by_key(|job| place(job).unwrap_or(LONGEST.len()));
    Ok((beside, alone))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(names: &[&str]) -> Vec<TestProgram> {
        let program = |name: &&str| TestProgram {
            name: (*name).to_owned(),
            executable: format!("/target/{name}").into(),
            folder: "/tree".into(),
        };
        names.iter().map(program).collect()
    }

    #[test]
    fn each_test_is_in_one_job_and_those_of_services_again_with_the_second_store() {
        let names =
            ["judge", "engine::allocations", "engine::it", "fuzz::bounds", "fuzz::fixed", "plimsoll::it"];
        let programs = programs(&[&names[..], &["challenge::it", "listings::it"]].concat());
        let (beside, alone) = jobs(&programs).expect("every program is there");
        let names = |jobs: &[Job<'_>]| jobs.iter().map(Job::name).collect::<Vec<_>>();
        let (beside, alone) = (names(&beside), names(&alone));
        assert!(beside[0].starts_with("plimsoll::it --skip capacity::trouble::"), "{}", beside[0]);
        assert!(beside[0].ends_with(" --skip memory:: --skip selftest::"), "{}", beside[0]);
        assert_eq!(beside[1], "challenge::it");
        assert!(beside[2].starts_with("TEST_STORE=postgres challenge::it all_goals:: "), "{}", beside[2]);
        assert_eq!(beside[3], "listings::it");
        assert!(beside[4].starts_with("TEST_STORE=postgres listings::it bad_input:: "), "{}", beside[4]);
        assert_eq!(
            beside[5],
            "engine::it --skip lag:: --skip perturbed:: --skip pools::the_peers_limit --skip stall:: --skip times::"
        );
        assert_eq!(beside[6..], ["fuzz::fixed", "judge"]);
        let timed = [
            "engine::allocations",
            "engine::it lag:: perturbed:: pools::the_peers_limit stall:: times::",
            "fuzz::bounds",
        ];
        assert_eq!(alone[..3], timed);
        assert!(alone[3].ends_with(" memory:: selftest::"), "{}", alone[3]);
    }

    #[test]
    fn a_program_that_is_gone_is_named() {
        let error = jobs(&programs(&["judge"])).expect_err("the tables name others").to_string();
        assert_eq!(error, "there is no test program engine::allocations");
    }
}
