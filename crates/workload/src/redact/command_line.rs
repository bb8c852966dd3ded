//! Secrets in the command line of a program that is not Plimsoll: which words are secret follows from their names alone.

use std::borrow::Cow;

use super::{REDACTED, Redactor};
use crate::secret_address;

/// What is in the name of an option or variable with a secret value, in lower case.
const MARKS: [&str; 8] =
    ["password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "authorization"];
/// The same at the end of a name.
const ENDS: [&str; 4] = ["key", "auth", "pass", "bearer"];
/// The end of a name whose value is about a secret, not one.
const ABOUT: [&str; 6] = ["file", "path", "dir", "ttl", "type", "name"];

impl Redactor {
    /// A program's words as a shell would be given them, without secrets: values of options and variables with a secret
    /// name (`--db-password VALUE`, `API_KEY=VALUE`), passwords in addresses, secret headers, and the values that this
    /// redactor knows. A secret that no name marks stays.
    pub fn command_line(&self, words: &[String]) -> String {
        let mut shown: Vec<String> = Vec::with_capacity(words.len());
        let mut is_value_next = false;
        for word in words {
            let is_option = word.starts_with('-');
            let is_secret = is_value_next && !is_option;
            shown.push(if is_secret {
                REDACTED.to_owned()
            } else {
                shell_word(&self.word(word)).into_owned()
            });
            is_value_next = is_option && !word.contains('=') && self.is_secret_option(word);
        }
        shown.join(" ")
    }

    fn word<'a>(&self, word: &'a str) -> Cow<'a, str> {
        if let Some((name, value)) = word.split_once('=') {
            if self.is_secret_option(name) {
                return Cow::Owned(format!("{name}={REDACTED}"));
            }
            if value.contains("://") {
                return Cow::Owned(format!("{name}={}", self.address(value)));
            }
        }
        if let Some((name, value)) = word.split_once(':')
            && self.is_secret_name(name.trim())
            && !value.is_empty()
        {
            return Cow::Owned(format!("{name}: {REDACTED}"));
        }
        match word.contains("://") {
            true => Cow::Owned(self.address(word)),
            false => self.text(word),
        }
    }

    fn address(&self, address: &str) -> String {
        self.text(&secret_address::shown(address)).into_owned()
    }

    /// Whether the value of an option or a variable of this name is secret.
    fn is_secret_option(&self, name: &str) -> bool {
        let name = name.trim_start_matches('-').to_ascii_lowercase().replace('-', "_");
        let is_about = ABOUT.iter().any(|end| name.ends_with(end));
        let is_marked =
            MARKS.iter().any(|mark| name.contains(mark)) || ENDS.iter().any(|end| name.ends_with(end));
        self.names.contains(&name) || (is_marked && !is_about)
    }
}

/// Quoted where a shell needs it.
fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./:=,@%+[]{}?&".contains(char);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Workload;

    fn shown(words: &[&str]) -> String {
        let env = BTreeMap::from([("SECRET".to_owned(), "hunter2x".to_owned())]);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Redactor::new(&Workload::named("a"), &env).command_line(&words)
    }

    #[test]
    fn secrets_are_hidden_by_the_names_of_options_and_variables() {
        for (words, expected) in [
            (
                &["shop", "--port", "80", "--db-password", "abc"][..],
                "shop --port 80 --db-password [redacted]",
            ),
            (&["shop", "--token=abc", "-v"], "shop --token=[redacted] -v"),
            (
                &["java", "-Djavax.net.ssl.keyStorePassword=abc", "-jar", "a.jar"],
                "java -Djavax.net.ssl.keyStorePassword=[redacted] -jar a.jar",
            ),
            (&["env", "API_KEY=abc", "MODE=fast"], "env API_KEY=[redacted] MODE=fast"),
            (&["shop", "--secret", "--verbose"], "shop --secret --verbose"),
            (&["shop", "--key-file", "a.pem", "--token-ttl", "5"], "shop --key-file a.pem --token-ttl 5"),
        ] {
            assert_eq!(shown(words), expected);
        }
    }

    #[test]
    fn secrets_are_hidden_in_addresses_headers_and_by_their_value() {
        for (words, expected) in [
            (&["shop", "postgres://app:abc@db/shop"][..], "shop postgres://app:[redacted]@db/shop"),
            (&["shop", "--db=postgres://app:abc@db/shop"], "shop --db=postgres://app:[redacted]@db/shop"),
            (&["proxy", "-H", "Authorization: Bearer abc"], "proxy -H 'Authorization: [redacted]'"),
            (&["shop", "hunter2x"], "shop [redacted]"),
        ] {
            assert_eq!(shown(words), expected);
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shown(&["sh", "-c", "it's a; b", ""]), r"sh -c 'it'\''s a; b' ''");
    }
}
