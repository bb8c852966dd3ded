//! As much of the shell's grammar as finds the commands of a script. What it does not understand it leaves out: a variable that
//! names a program, the branches of `case`, what a program starts itself.

/// Commands of the shell's own.
const OWN: &str = ". : [ break cd continue done echo esac eval exit export false fi kill printf pwd read return set shift \
                   source test trap true ulimit umask unset wait";
const BEFORE_A_COMMAND: &[&str] =
    &["!", "command", "do", "elif", "else", "exec", "if", "then", "until", "while"];
/// What follows are words or patterns.
const BEFORE_WORDS: &[&str] = &["case", "for", "in"];

/// The programs that a script starts, in its order.
pub(super) fn commands(script: &str) -> Vec<String> {
    // A script within the script begins a command like a line does.
    let script = script.replace("-c '", "\n").replace("-c \"", "\n").replace("$(", "\n");
    let pieces = pieces(&script);
    pieces
        .iter()
        .filter_map(|piece| command(piece))
        .filter(|word| OWN.split(' ').all(|own| own != *word))
        .map(str::to_owned)
        .collect()
}

/// The parts between what separates commands, outside of quotes.
fn pieces(script: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut quote, mut is_comment) = (0, None, false);
    for (at, c) in script.char_indices() {
        match (quote, c) {
            _ if is_comment && c != '\n' => start = at + c.len_utf8(),
            (Some(open), _) if c == open => quote = None,
            // A quote that is not closed belongs to a script within the script.
            (_, '\n') | (None, ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`') => {
                pieces.push(&script[start..at]);
                (start, quote, is_comment) = (at + c.len_utf8(), None, false);
            }
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if script[..at].ends_with(char::is_whitespace) => {
                pieces.push(&script[start..at]);
                is_comment = true;
            }
            _ => {}
        }
    }
    pieces.push(&script[start.min(script.len())..]);
    pieces
}

/// The program that a simple command names, if it is a plain word.
fn command(piece: &str) -> Option<&str> {
    let mut words = piece.split_whitespace();
    let word = words.find(|word| !BEFORE_A_COMMAND.contains(word) && !is_assignment(word))?;
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-[:".contains(&byte));
    // Neither the option of a command on an earlier line, nor a function of the script's own.
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || ".:/[".contains(c));
    (is_plain && begins && !BEFORE_WORDS.contains(&word)).then_some(word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expect: &[&str]) {
        assert_eq!(commands(script), expect, "of {script}");
    }

    #[test]
    fn the_programs_of_a_script_are_found() {
        check("mkfifo gone; true < gone & exec > gone 2>&1; wait", &["mkfifo"]);
        check("trap '' XFSZ; ulimit -f 300; exec \"$@\"", &[]);
        check("A=1 B=\"$x\" jq . < in | sort > out && ! diff a b", &["jq", "sort", "diff"]);
        check("until [ -e cut ]; do sleep 0.02; done; ip link set lo up &\nfar=$!", &["sleep", "ip"]);
        check("pid=$(head -n 1 \"$1\")\nif [ -n \"$pid\" ]; then rm -rf \"$1\"; fi", &["head", "rm"]);
        check("for _ in $(seq 200); do break; done", &["seq"]);
        check("ls # ; not this one\nps", &["ls", "ps"]);
    }

    #[test]
    fn a_script_within_a_script_is_one() {
        check(
            "unshare --net sh -c '\n    touch begun\n    openssl version' \"$1\" &",
            &["unshare", "touch", "openssl"],
        );
        check("nsenter --net sh -c 'ip link; hostname x'", &["nsenter", "ip", "hostname"]);
    }

    #[test]
    fn what_is_not_a_plain_word_is_left_out() {
        check("\"$0\" worker; $program; 5>&1", &[]);
    }
}
