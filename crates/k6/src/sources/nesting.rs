//! How deep the brackets of a text are nested: what parses it calls itself for each level, and a stack that is full ends the process.

use std::thread::Builder;

/// So many levels need no stack of their own.
const USUAL_DEPTH: usize = 32;
/// More levels are refused.
const MOST_DEPTH: usize = 4_000;
/// What one level takes of a stack at most, in a build without optimisation.
const LEVEL_BYTES: usize = 128 << 10;

/// Why a text is not parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NestingError {
    #[error("SyntaxError: brackets are nested more than {MOST_DEPTH} deep\n\tat {name}:{line}:{column}")]
    TooDeep { name: String, line: usize, column: usize },
    #[error("no memory for the stack on which {0} is parsed")]
    NoStack(String),
}

/// Do `parse` on a stack that is large enough for this text.
///
/// # Errors
/// [`NestingError`].
pub(super) fn parse_nested<R: Send>(
    name: &str,
    text: &str,
    parse: impl FnOnce() -> R + Send,
) -> Result<R, NestingError> {
    let deepest = deepest(text).map_err(|(line, column)| NestingError::TooDeep {
        name: name.to_owned(),
        line,
        column,
    })?;
    if deepest <= USUAL_DEPTH {
        return Ok(parse());
    }
    let no_stack = || NestingError::NoStack(name.to_owned());
    std::thread::scope(|scope| {
        let builder = Builder::new().name("parser".to_owned()).stack_size(deepest * LEVEL_BYTES);
        let thread = builder.spawn_scoped(scope, parse).map_err(|_| no_stack())?;
        match thread.join() {
            Ok(parsed) => Ok(parsed),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// How deep brackets are nested, those in strings and comments too; or the place at which there are more than are parsed.
fn deepest(text: &str) -> Result<usize, (usize, usize)> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for (index, line) in text.lines().enumerate() {
        for (at, character) in line.char_indices() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
            if deepest > MOST_DEPTH {
                return Err((index + 1, line[..at].chars().count() + 1));
            }
        }
    }
    Ok(deepest)
}
