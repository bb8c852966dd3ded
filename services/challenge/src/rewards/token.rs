//! The bearer token for the reward service. It must never appear in logs or messages.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use http::HeaderValue;

const MAX_BYTES: u64 = 16 * 1024;

/// A bearer token, or the file that contains one.
#[derive(Clone)]
pub enum Token {
    /// From the settings.
    Fixed(HeaderValue),
    /// Read for every attempt, so that a replaced token takes effect at once.
    File(PathBuf),
}

impl Token {
    /// `text` as a token, unless it is not a valid header value.
    #[must_use]
    pub fn fixed(text: &str) -> Option<Self> {
        header(text).map(Self::Fixed)
    }

    /// The value of the `Authorization` header.
    ///
    /// # Errors
    /// When the file cannot be read or contains no token. The message contains no part of the token.
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
    header(&text).ok_or_else(|| "the token's file contains no token".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_file_is_read_each_time_and_its_line_end_is_ignored() {
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
        assert_eq!(token.authorization().await.unwrap_err(), "the token's file contains no token");
    }

    #[tokio::test]
    async fn a_token_is_not_printed() {
        let token = Token::fixed("secret").unwrap();
        let printed = format!("{token:?} {:?}", token.authorization().await.unwrap());
        assert!(!printed.contains("secret"), "{printed}");
        assert!(Token::fixed(" ").is_none() && Token::fixed("a\nb").is_none());
    }
}
