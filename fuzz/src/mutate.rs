//! Makes inputs from seeds, each with a few changes that are drawn from one number.

use workload::draw::mix;

use crate::Target;

/// Longer inputs are cut: no grammar here needs longer ones to fail.
const LONGEST: usize = 64 << 10;
/// The most changes to one input.
const MOST_CHANGES: u64 = 8;

/// Makes inputs for one target.
pub struct Mutator<'a> {
    target: &'a Target,
    state: u64,
}

impl<'a> Mutator<'a> {
    /// The inputs that belong to `seed`.
    pub fn new(target: &'a Target, seed: u64) -> Self {
        let name = target.name.bytes().fold(seed, |state, byte| mix(state ^ u64::from(byte)));
        Mutator { target, state: name }
    }

    pub fn next_input(&mut self) -> Vec<u8> {
        let seeds = self.target.seeds;
        let mut input = seeds[self.below(seeds.len())].to_vec();
        for _change in 0..=self.draw() % MOST_CHANGES {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + self.length()).min(input.len());
        match self.below(9) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.significant_byte(),
            2 => input.insert(at, self.significant_byte()),
            3 => drop(input.drain(at..end)),
            4 => input.truncate(at),
            5 => {
                let again = input[at..end].repeat(1 + self.below(40));
                input.splice(at..at, again);
            }
            6 if !self.target.words.is_empty() => {
                let word = self.target.words[self.below(self.target.words.len())];
                input.splice(at..end.min(at + word.len()), word.iter().copied());
            }
            7 => {
                let other = self.target.seeds[self.below(self.target.seeds.len())];
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let number = [0, 1, 127, 255, 256, 65_535, 1 << 31, u64::MAX][self.below(8)];
                let digits = number.to_string();
                input.splice(at..end, digits.bytes());
            }
        }
    }

    /// Mostly short.
    fn length(&mut self) -> usize {
        let most = [2, 8, 64, 4_096][self.below(4)];
        1 + self.below(most)
    }

    /// A byte: half of the time one that is significant in a grammar.
    fn significant_byte(&mut self) -> u8 {
        const SIGNIFICANT: &[u8] = b"\0\r\n\t \"'${}[]():;,.=-+#@/\\%\x7f\x80\xff09aZ";
        let any = self.draw() as u8;
        if any.is_multiple_of(2) { any } else { SIGNIFICANT[self.below(SIGNIFICANT.len())] }
    }

    /// A number below `bound`, which is above 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LETTERS: Target = Target {
        name: "letters",
        seeds: &[b"abcdefgh", b"xyz"],
        words: &[b"WORD"],
        run: |_| true,
        ..Target::BASE
    };

    fn inputs(seed: u64) -> Vec<Vec<u8>> {
        let mut mutator = Mutator::new(&LETTERS, seed);
        (0..2_000).map(|_| mutator.next_input()).collect()
    }

    #[test]
    fn inputs_are_a_function_of_the_seed() {
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }

    #[test]
    fn every_kind_of_change_occurs_and_length_is_bounded() {
        let inputs = inputs(1);
        let occurs = |predicate: &dyn Fn(&Vec<u8>) -> bool| inputs.iter().any(predicate);
        assert!(occurs(&Vec::is_empty) && occurs(&|input| input.len() > 100));
        assert!(occurs(&|input| input.windows(4).any(|four| four == b"WORD")));
        assert!(occurs(&|input| input.windows(5).any(|five| five == b"65535")));
        assert!(inputs.iter().all(|input| input.len() <= LONGEST));
    }
}
