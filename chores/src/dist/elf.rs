//! Which loader and which libraries a Linux program asks for (ELF64, little-endian).

use anyhow::{Context as _, Result, ensure};

/// Program headers: where the dynamic section is, and which loader is asked for.
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// An entry of the dynamic section that names a library.
const DT_NEEDED: u64 = 1;

/// What must be on a machine for a program to start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Whether it asks for a loader.
    pub(super) loader: bool,
    /// How many libraries it names.
    pub(super) libraries: usize,
}

/// Reads the headers of a program.
///
/// # Errors
/// When it is no ELF64 program, or its headers point outside of it.
pub(super) fn needs(program: &[u8]) -> Result<Needs> {
    ensure!(program.starts_with(b"\x7fELF\x02\x01"), "it is no 64-bit little-endian ELF file");
    let (table, entry_size, entries) =
        (number(program, 32, 8)?, number(program, 54, 2)?, number(program, 56, 2)?);
    let mut needs = Needs { loader: false, libraries: 0 };
    for index in 0..entries {
        let header = table.checked_add(index * entry_size).context("its headers are outside of it")?;
        match number(program, header, 4)? {
            PT_INTERP => needs.loader = true,
            PT_DYNAMIC => {
                let (begin, size) = (number(program, header + 8, 8)?, number(program, header + 32, 8)?);
                for at in (0..size / 16).map(|entry| begin.saturating_add(entry * 16)) {
                    needs.libraries += usize::from(number(program, at, 8)? == DT_NEEDED);
                }
            }
            _ => {}
        }
    }
    Ok(needs)
}

fn number(bytes: &[u8], at: u64, width: usize) -> Result<u64> {
    let at = usize::try_from(at)?;
    let field = at.checked_add(width).and_then(|end| bytes.get(at..end));
    let field = field.context("a header is outside of the file")?;
    Ok(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_machine_asks_for_its_loader_and_libraries() {
        let itself = std::fs::read(std::env::current_exe().expect("it runs")).expect("it is readable");
        let needs = needs(&itself).expect("an ELF program");
        assert!(needs.loader && needs.libraries > 0, "{needs:?}");
    }

    #[test]
    fn what_is_no_program_or_is_cut_off_is_an_error() {
        assert!(needs(b"#!/bin/sh").is_err());
        let itself = std::fs::read(std::env::current_exe().expect("it runs")).expect("it is readable");
        assert!(needs(&itself[..70]).is_err());
        let mut far = itself;
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(needs(&far).is_err());
    }
}
