//! A fixed number of inputs for every parser, the same on every machine, behind those that are kept.

use fuzz::mutate::Mutator;
use fuzz::{TARGETS, corpus, run_case};

/// Few enough for every run of the tests; `cargo run --release -p fuzz` runs any number.
const INPUTS: u64 = 20_000;

#[test]
fn no_input_of_the_fixed_set_is_a_finding() {
    for target in TARGETS {
        let mut mutator = Mutator::new(target, 1);
        let inputs = INPUTS / target.one_of;
        let mut understood = 0;
        for number in 0..inputs {
            let input = mutator.next_input();
            match run_case(target, &input) {
                Ok(case) => understood += u64::from(case.is_understood),
                Err(why) => panic!("{}: input {number}: {why}: {}", target.name, input.escape_ascii()),
            }
        }
        // A test with inputs that are all refused at the first byte would be useless.
        assert!(understood > inputs / 1_000, "{}: {understood} of {inputs} were understood", target.name);
    }
}

#[test]
fn kept_inputs_are_no_findings() {
    let mut kept = 0;
    for target in TARGETS {
        for (path, input) in corpus(target).unwrap_or_else(|error| panic!("{}: {error}", target.name)) {
            run_case(target, &input).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            kept += 1;
        }
    }
    assert!(kept > 0, "the corpus is not found");
}

#[test]
fn every_folder_of_the_corpus_belongs_to_a_parser() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let name = entry.expect("the folder can be read").file_name();
        assert!(TARGETS.iter().any(|target| *target.name == *name), "{}", name.display());
    }
}

#[test]
fn seeds_are_valid_for_their_parsers() {
    for target in TARGETS {
        let understood = target.seeds.iter().filter(|seed| (target.run)(seed)).count();
        // The demo's plan names files, which all have the same content here; at least one seed must be valid. Most of
        // those of run files break them.
        let is_lenient = target.name == "run-file";
        assert!(
            understood >= 1 && (is_lenient || understood + 1 >= target.seeds.len()),
            "{}: {understood}",
            target.name
        );
    }
}
