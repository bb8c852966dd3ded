//! A fixed number of inputs for every parser, the same on every machine.

use fuzz::TARGETS;
use fuzz::mutate::Mutator;

/// Few enough for every run of the tests; `cargo run --release -p fuzz` runs any number.
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
        // A test with inputs that are all refused at the first byte would be useless.
        assert!(understood > INPUTS / 1_000, "{}: {understood} of {INPUTS} were understood", target.name);
    }
}

#[test]
fn seeds_are_valid_for_their_parsers() {
    for target in TARGETS {
        let understood = target.seeds.iter().filter(|seed| (target.run)(seed)).count();
        // The demo's plan names files, which all have the same content here; at least one seed must be valid.
        assert!(understood >= 1 && understood + 1 >= target.seeds.len(), "{}: {understood}", target.name);
    }
}
