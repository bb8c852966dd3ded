//! Which tests are about time, and how the others are divided among jobs.

use anyhow::{Result, ensure};

use super::job::Job;
use crate::test::programs::TestProgram;

/// Tests that measure time, memory or processors. They run when nothing else does.
struct Timed {
    program: &'static str,
    /// Names of tests begin with one of these; all tests of the program where there is none.
    modules: &'static [&'static str],
}

const TIMED: &[Timed] = &[
    Timed { program: "engine::allocations", modules: &[] },
    Timed { program: "engine::it", modules: &["lag::", "perturbed::", "stall::", "times::"] },
    Timed { program: "fuzz::bounds", modules: &[] },
    Timed { program: "plimsoll::it", modules: &["memory::", "selftest::"] },
];

/// How many tests of a program run at once beside other programs, where it is not one: programs that wait for other
/// processes take more.
const THREADS: &[(&str, usize)] =
    &[("plimsoll::it", 4), ("challenge::postgres", 2), ("listings::postgres", 2)];
const USUAL_THREADS: usize = 1;

/// Programs that take longest begin first, so that no processor is idle at the end.
const LONGEST: &[&str] = &["plimsoll::it", "challenge::postgres", "listings::postgres", "fuzz::fixed"];

/// The jobs that run side by side, and those that run alone.
///
/// # Errors
/// When a program of the tables is not among the test programs.
pub(super) fn jobs(programs: &[TestProgram]) -> Result<(Vec<Job<'_>>, Vec<Job<'_>>)> {
    let named = TIMED.iter().map(|timed| timed.program).chain(THREADS.iter().map(|(name, _)| *name));
    for name in named.chain(LONGEST.iter().copied()) {
        ensure!(programs.iter().any(|program| program.name == name), "there is no test program {name}");
    }
    let mut beside = Vec::new();
    let mut alone = Vec::new();
    for program in programs {
        let timed = TIMED.iter().find(|timed| timed.program == program.name);
        let modules = timed.map_or(&[][..], |timed| timed.modules);
        if timed.is_some() {
            let arguments = modules.iter().map(|&module| module.to_owned()).collect();
            alone.push(Job { program, arguments, threads: 1 });
        }
        if timed.is_none_or(|timed| !timed.modules.is_empty()) {
            let arguments = modules.iter().flat_map(|&module| ["--skip".to_owned(), module.to_owned()]);
            let threads = THREADS.iter().find(|(name, _)| *name == program.name);
            let threads = threads.map_or(USUAL_THREADS, |&(_, threads)| threads);
            beside.push(Job { program, arguments: arguments.collect(), threads });
        }
    }
    beside.sort_by_key(|job| {
        LONGEST.iter().position(|&name| name == job.program.name).unwrap_or(LONGEST.len())
    });
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
    fn each_test_is_in_exactly_one_job() {
        let names =
            ["judge", "engine::allocations", "engine::it", "fuzz::bounds", "fuzz::fixed", "plimsoll::it"];
        let programs = programs(&[&names[..], &["challenge::postgres", "listings::postgres"]].concat());
        let (beside, alone) = jobs(&programs).expect("every program is there");
        let beside: Vec<String> = beside.iter().map(Job::name).collect();
        assert_eq!(
            beside,
            [
                "plimsoll::it --skip memory:: --skip selftest::",
                "challenge::postgres",
                "listings::postgres",
                "fuzz::fixed",
                "judge",
                "engine::it --skip lag:: --skip perturbed:: --skip stall:: --skip times::",
            ]
        );
        let alone: Vec<String> = alone.iter().map(Job::name).collect();
        assert_eq!(
            alone,
            [
                "engine::allocations",
                "engine::it lag:: perturbed:: stall:: times::",
                "fuzz::bounds",
                "plimsoll::it memory:: selftest::",
            ]
        );
    }

    #[test]
    fn a_program_that_is_gone_is_named() {
        let error = jobs(&programs(&["judge"])).expect_err("the tables name others").to_string();
        assert_eq!(error, "there is no test program engine::allocations");
    }
}
