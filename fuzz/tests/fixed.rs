//! A fixed number of inputs for every parser, the same on every machine.

use fuzz::TARGETS;
use fuzz::mutate::Mutator;

/// Few enough for every run of the tests; `cargo run --release -p fuzz` takes as many as it is given.
const INPUTS: u64 = 20_000;

#[test]
fn no_input_of_the_fixed_set_is_a_finding() {
    for target in TARGETS {
        let mut mutator = Mutator::new(target, 1);
        let mut understood = 0;
        for number in 0..INPUTS {
            let input = mutator.next_input();
            match std::panic::catch_unwind(|| (target.run)(&input)) {
                Ok(is_understood) => understood += u64::from(is_understood),
                Err(_) => panic!("{}: input {number} is a finding: {}", target.name, input.escape_ascii()),
            }
        }
        // Inputs that are all refused at the first byte would test nothing.
        assert!(understood > INPUTS / 1_000, "{}: {understood} of {INPUTS} were understood", target.name);
    }
}

#[test]
fn seeds_make_sense_to_their_parsers() {
    for target in TARGETS {
        let understood = target.seeds.iter().filter(|seed| (target.run)(seed)).count();
        // The demo's plan names files, which here are all alike; one seed of each parser must be sound.
        assert!(understood >= 1 && understood + 1 >= target.seeds.len(), "{}: {understood}", target.name);
    }
}
