//! A thread's registers and a copy of the top of its stack: all that is taken of a thread at a sample. Callers are found
//! in the copy later, outside of signal handlers.
#![allow(
    unsafe_code,
    reason = "registers and stacks have no safe interface; tested below and by whole processes"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::FileExt as _;

use rustix::fs::MemfdFlags;

/// How much of a stack is copied. Frames further from the top are missing in a sample.
const STACK_BYTES: usize = 64 << 10;
/// The bytes of a slot in the file of copies.
pub(super) const SLOT_BYTES: usize = size_of::<Registers>() + STACK_BYTES;

/// The registers from which callers are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Registers {
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
    /// The return address of a function that calls none; 0 where the architecture has it on the stack.
    pub(super) lr: u64,
}

impl Registers {
    /// The registers now, as they are in the function that calls this.
    #[inline(always)]
    pub(super) fn here() -> Self {
        let (pc, sp, fp): (u64, u64, u64);
        let lr: u64;
        // SAFETY: only reads registers; neither memory nor flags change.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "lea {pc}, [rip]",
                "mov {sp}, rsp",
                "mov {fp}, rbp",
                pc = out(reg) pc,
                sp = out(reg) sp,
                fp = out(reg) fp,
                options(nomem, nostack, preserves_flags)
            );
            lr = 0;
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!(
                "adr {pc}, .",
                "mov {sp}, sp",
                "mov {fp}, x29",
                "mov {lr}, x30",
                pc = out(reg) pc,
                sp = out(reg) sp,
                fp = out(reg) fp,
                lr = out(reg) lr,
                options(nomem, nostack, preserves_flags)
            );
        }
        Self { pc, sp, fp, lr }
    }

    /// The registers of a thread that a signal interrupted.
    pub(super) fn interrupted(context: &libc::ucontext_t) -> Self {
        let registers = &context.uc_mcontext;
        #[cfg(target_arch = "x86_64")]
        {
            let register = |index: i32| registers.gregs[index as usize].cast_unsigned();
            Self {
                pc: register(libc::REG_RIP),
                sp: register(libc::REG_RSP),
                fp: register(libc::REG_RBP),
                lr: 0,
            }
        }
        #[cfg(target_arch = "aarch64")]
        Self { pc: registers.pc, sp: registers.sp, fp: registers.regs[29], lr: registers.regs[30] }
    }

    /// The form in which unwinding begins.
    pub(super) fn unwinding(self) -> framehop::UnwindRegsNative {
        #[cfg(target_arch = "x86_64")]
        return framehop::UnwindRegsNative::new(self.pc, self.sp, self.fp);
        #[cfg(target_arch = "aarch64")]
        return framehop::UnwindRegsNative::new(self.lr, self.sp, self.fp);
    }
}

/// Copies of stacks, in a file in memory. The kernel copies them: it stops where memory ends, and a reading of ours would
/// end the process.
#[derive(Debug)]
pub(super) struct CopyFile(File);

impl CopyFile {
    /// An empty one.
    ///
    /// # Errors
    /// When the system has none.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(rustix::fs::memfd_create("stacks", MemfdFlags::CLOEXEC)?.into()))
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// What [`copy`] has written into a slot: `length` bytes.
    ///
    /// # Errors
    /// When the system fails to read its own memory.
    pub(super) fn read(&self, slot: usize, length: usize) -> io::Result<StackCopy> {
        let mut bytes = vec![0; length.min(SLOT_BYTES)];
        self.0.read_exact_at(&mut bytes, (slot * SLOT_BYTES) as u64)?;
        let mut words =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let mut next = || words.next().unwrap_or_default();
        let registers = Registers { pc: next(), sp: next(), fp: next(), lr: next() };
        bytes.drain(..size_of::<Registers>().min(bytes.len()));
        Ok(StackCopy { registers, stack: bytes })
    }
}

/// Writes `registers`, and the stack from their stack pointer on, into a slot of a [`CopyFile`]. Returns how many bytes
/// were written. It may be called in a signal handler: it makes one system call and nothing else.
pub(super) fn copy(descriptor: RawFd, slot: usize, registers: &Registers) -> usize {
    let parts = [
        libc::iovec {
            iov_base: std::ptr::from_ref(registers).cast_mut().cast(),
            iov_len: size_of::<Registers>(),
        },
        libc::iovec {
            iov_base: std::ptr::without_provenance_mut(registers.sp as usize),
            iov_len: STACK_BYTES,
        },
    ];
    let offset = (slot * SLOT_BYTES) as i64;
    // SAFETY: the kernel reads the two ranges and writes to none. Where a range is not readable it ends the copy with a
    // short count or EFAULT and does not disturb the process.
    let written = unsafe { libc::pwritev(descriptor, parts.as_ptr(), 2, offset) };
    usize::try_from(written).unwrap_or(0)
}

/// One sample of a thread.
#[derive(Debug)]
pub(super) struct StackCopy {
    pub(super) registers: Registers,
    stack: Vec<u8>,
}

impl StackCopy {
    /// The word at an address of the stack, if it was copied.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.registers.sp)?).ok()?;
        let word = self.stack.get(offset..)?.first_chunk::<8>()?;
        Some(u64::from_ne_bytes(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_words_of_the_stack_from_the_stack_pointer_on() {
        let file = CopyFile::new().unwrap();
        let words = [17_u64, 18, 19];
        let registers = Registers { pc: 1, sp: words.as_ptr() as u64, fp: 3, lr: 4 };
        let length = copy(file.descriptor(), 2, &registers);
        assert!(length > size_of::<Registers>());
        let copied = file.read(2, length).unwrap();
        assert_eq!(copied.registers, registers);
        for (index, word) in (0..).zip(words) {
            assert_eq!(copied.word(registers.sp + index * 8), Some(word));
        }
        assert_eq!(copied.word(registers.sp - 8), None);
        assert_eq!(copied.word(registers.sp + SLOT_BYTES as u64), None);
        assert_eq!(copied.word(u64::MAX), None);
    }

    #[test]
    fn memory_that_does_not_exist_is_not_copied_and_does_no_harm() {
        let file = CopyFile::new().unwrap();
        for sp in [0, 4096, u64::MAX - 100, 0xdead_beef_dead_beef] {
            let registers = Registers { sp, ..Registers::default() };
            let length = copy(file.descriptor(), 0, &registers);
            assert!(length == 0 || length == size_of::<Registers>(), "{sp:x}: {length}");
        }
        assert_eq!(copy(-1, 0, &Registers::here()), 0);
    }

    #[test]
    fn the_registers_are_those_of_the_caller() {
        let local = 0_u8;
        let registers = Registers::here();
        let distance = (std::ptr::from_ref(&local) as u64).abs_diff(registers.sp);
        assert!(distance < 64 << 10, "{distance}");
    }
}
