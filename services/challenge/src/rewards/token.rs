//! What the reward service knows us by. It must never be shown.

use http::HeaderValue;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 16 * 1024;

/// A bearer token, or the file that holds one.
#[derive(Clone)]
pub enum Token {
    /// As given.
    Fixed(HeaderValue),
    /// Read for every attempt, so that a token that is replaced counts at once.
    File(PathBuf),
}

impl Token {
    /// `text` as a token, unless a header could not hold it.
    #[must_use]
    pub fn fixed(text: &str) -> Option<Self> {
        header(text).map(Self::Fixed)
    }

    /// The value of the `Authorization` header.
    ///
    /// # Errors
    /// When the file cannot be read or holds no token. The text names no part of it.
    pub async fn authorization(&self) -> Result<HeaderValue, String> {
        match self {
            Self::Fixed(header) => Ok(header.clone()),
            Self::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read(&path)).await;
                read.unwrap_or_else(|_| Err("the token's file was not read".to_owned()))
            }
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(_) => f.write_str("Fixed(hidden)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

fn header(token: &str) -> Option<HeaderValue> {
    let token = token.trim();
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    (!token.is_empty()).then_some(header)
}

fn read(path: &Path) -> Result<HeaderValue, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| format!("the token's file: {error}"))?;
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|error| format!("the token's file: {error}"))?;
    header(&text).ok_or_else(|| "the token's file holds no token".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_read_anew_and_its_line_end_is_no_part_of_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = Token::File(path.clone());
        assert!(token.authorization().await.unwrap_err().contains("the token's file"));
        for text in ["first\n", "second"] {
            std::fs::write(&path, text).unwrap();
            let expected = format!("Bearer {}", text.trim());
            assert_eq!(token.authorization().await.unwrap().to_str().unwrap(), expected);
        }
        std::fs::write(&path, "a\nb").unwrap();
        assert_eq!(token.authorization().await.unwrap_err(), "the token's file holds no token");
    }

    #[tokio::test]
    async fn a_token_is_not_shown() {
        let token = Token::fixed("secret").unwrap();
        let shown = format!("{token:?} {:?}", token.authorization().await.unwrap());
        assert!(!shown.contains("secret"), "{shown}");
        assert!(Token::fixed(" ").is_none() && Token::fixed("a\nb").is_none());
    }
}
