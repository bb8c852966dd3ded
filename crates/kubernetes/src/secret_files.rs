//! Which of the files that pods get are secret: those with private keys go into the Secret of the run, and into no other object.

/// Begins the first line of a PEM block.
const BLOCK: &[u8] = b"-----BEGIN ";
/// Ends the first line of a block with a private key, of whatever kind.
const OF_KEY: &[u8] = b"PRIVATE KEY-----";
/// The most that is between both, with the latter.
const LABEL_BYTES: usize = 64;
/// Shorter lines of a key may be anywhere.
const SHORTEST_LINE: usize = 16;

/// A private key of a run, however the run came by it.
struct PrivateKey<'a> {
    whole: &'a [u8],
    /// The lines with its content.
    lines: Vec<&'a [u8]>,
}

impl<'a> PrivateKey<'a> {
    fn of(whole: &'a [u8]) -> PrivateKey<'a> {
        let lines = whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let is_content = |line: &&[u8]| line.len() >= SHORTEST_LINE && !line.starts_with(b"-----");
        PrivateKey { whole, lines: lines.filter(is_content).collect() }
    }

    fn is_in(&self, content: &[u8]) -> bool {
        content == self.whole || self.lines.iter().any(|line| contains(content, line))
    }
}

/// Which contents are secret, by the private keys of the run, and by everything that its pods get: `contents` of files
/// and values of the Secret. A key that is in none of them as it is was made of some of them: then all are.
pub(crate) fn is_secret<'a>(
    keys: impl IntoIterator<Item = &'a [u8]>,
    contents: &[&[u8]],
) -> impl Fn(&[u8]) -> bool {
    let keys: Vec<PrivateKey<'a>> = keys.into_iter().map(PrivateKey::of).collect();
    let all_are = keys.iter().any(|key| !contents.iter().any(|content| key.is_in(content)));
    move |content| all_are || has_private_key(content) || keys.iter().any(|key| key.is_in(content))
}

/// Whether it has a PEM block of a private key: a file with one, or a text with such a literal.
fn has_private_key(content: &[u8]) -> bool {
    let begins = content.windows(BLOCK.len()).enumerate().filter(|(_, part)| *part == BLOCK);
    begins.into_iter().any(|(at, _)| {
        let rest = &content[at + BLOCK.len()..];
        contains(&rest[..rest.len().min(LABEL_BYTES)], OF_KEY)
    })
}

fn contains(content: &[u8], part: &[u8]) -> bool {
    content.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIAAAAAAAAAAAAAAA\n-----END EC PRIVATE KEY-----\n";

    #[test]
    fn keys_are_found_in_files_in_texts_and_in_what_is_made_of_files() {
        let script = format!("const key = `{KEY}`;");
        let json = serde_json::json!({ "key": KEY }).to_string();
        let spoilt = "x = '-----BEGIN PRIVATE' + ' KEY-----' + 'MHcCAQEEIAAAAAAAAAAAAAAA'";
        let contents =
            [KEY, &script, &json, spoilt, "-----BEGIN CERTIFICATE-----", "plain"].map(str::as_bytes);
        let found = |keys: &[&[u8]], contents: &[&[u8]]| -> Vec<bool> {
            let is_secret = is_secret(keys.iter().copied(), contents);
            contents.iter().map(|content| is_secret(content)).collect()
        };
        assert_eq!(found(&[], &contents), [true, true, true, false, false, false]);
        assert_eq!(found(&[KEY.as_bytes()], &contents), [true, true, true, true, false, false]);
        assert_eq!(found(&[KEY.as_bytes()], &contents[4..]), [true, true], "it was made of them");
    }
}
