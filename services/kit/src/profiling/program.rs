//! The program and the libraries of this process: where their code is, and how callers are found in it.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module, Unwinder as _,
    UnwinderNative,
};
use object::elf::PF_X;
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ReadCache, ReadRef, SegmentFlags};

use super::stack::StackCopy;

/// The most callers that a sample has.
const MAX_FRAMES: usize = 256;

/// What unwinding remembers between samples.
pub(super) type UnwindCache = CacheNative<MayAllocateDuringUnwind>;

/// A file of code, as it is mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeMapping {
    pub(super) addresses: Range<u64>,
    /// The place of the first of them in the file.
    pub(super) offset: u64,
    /// The name of the file, or of what the kernel provides in brackets.
    pub(super) name: String,
}

/// A file of code that could be read.
pub(super) struct LoadedModule {
    pub(super) mapping: CodeMapping,
    /// What is added to an address in the file to get the one in memory.
    pub(super) bias: u64,
    pub(super) build_id: String,
}

/// The code of this process.
pub(super) struct Program {
    /// By address.
    pub(super) modules: Vec<LoadedModule>,
    unwinder: UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>,
}

impl Program {
    /// Reads what is loaded now.
    ///
    /// # Errors
    /// When the kernel does not say what is loaded.
    pub(super) fn load() -> io::Result<Self> {
        let mut program = Self { modules: Vec::new(), unwinder: UnwinderNative::new() };
        let maps = fs::read_to_string("/proc/self/maps")?;
        for mapping in maps.lines().filter_map(code_mapping) {
            // A library that cannot be read has addresses without names, and ends the search for callers.
            let read = read_image(&mapping, UnwindTables);
            let Some((bias, build_id, module)) = read.ok().flatten() else { continue };
            program.unwinder.add_module(module);
            program.modules.push(LoadedModule { mapping, bias, build_id });
        }
        program.modules.sort_by_key(|module| module.mapping.addresses.start);
        Ok(program)
    }

    /// The addresses of a sample: of the instruction that was reached, then of the call in each caller.
    pub(super) fn callers(&self, sample: &StackCopy, cache: &mut UnwindCache) -> Vec<u64> {
        let mut read = |address| sample.word(address).ok_or(());
        let registers = sample.registers;
        let mut frames = self.unwinder.iter_frames(registers.pc, registers.unwinding(), cache, &mut read);
        let mut addresses = Vec::with_capacity(32);
        while addresses.len() < MAX_FRAMES
            && let Ok(Some(frame)) = frames.next()
        {
            addresses.push(FrameAddress::address_for_lookup(frame));
        }
        addresses
    }

    /// The module that has code at an address.
    pub(super) fn module_at(&self, address: u64) -> Option<usize> {
        let after = self.modules.partition_point(|module| module.mapping.addresses.start <= address);
        let index = after.checked_sub(1)?;
        self.modules[index].mapping.addresses.contains(&address).then_some(index)
    }
}

/// A line of `/proc/self/maps` that is code.
fn code_mapping(line: &str) -> Option<CodeMapping> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let name = words.skip(2).collect::<Vec<_>>().join(" ");
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let is_code = permissions.contains('x') && (name.starts_with('/') || name == "[vdso]");
    is_code.then_some(CodeMapping { addresses: hex(start)?..hex(end)?, offset: hex(offset)?, name })
}

/// What is made of an ELF file, wherever its bytes are.
pub(super) trait ImageReader {
    type Output;

    fn read<'data, R: ReadRef<'data>>(
        self,
        mapping: &CodeMapping,
        image: &ElfFile64<'data, object::Endianness, R>,
    ) -> Option<Self::Output>;
}

/// Reads the image behind a mapping.
///
/// # Errors
/// When its file cannot be read.
pub(super) fn read_image<I: ImageReader>(mapping: &CodeMapping, reader: I) -> io::Result<Option<I::Output>> {
    if mapping.name == "[vdso]" {
        let length = mapping.addresses.end - mapping.addresses.start;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        File::open("/proc/self/mem")?.read_exact_at(&mut bytes, mapping.addresses.start)?;
        return Ok(ElfFile64::parse(&bytes[..]).ok().and_then(|image| reader.read(mapping, &image)));
    }
    let cached = ReadCache::new(File::open(file_of(&mapping.name))?);
    Ok(ElfFile64::parse(&cached).ok().and_then(|image| reader.read(mapping, &image)))
}

/// The program's own file is found also after it was replaced.
fn file_of(name: &str) -> PathBuf {
    const OWN: &str = "/proc/self/exe";
    let is_own = fs::read_link(OWN).is_ok_and(|own| own == Path::new(name));
    PathBuf::from(if is_own { OWN } else { name })
}

/// Reads what unwinding needs.
struct UnwindTables;

impl ImageReader for UnwindTables {
    type Output = (u64, String, Module<Vec<u8>>);

    fn read<'data, R: ReadRef<'data>>(
        self,
        mapping: &CodeMapping,
        image: &ElfFile64<'data, object::Endianness, R>,
    ) -> Option<Self::Output> {
        let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0);
        let code = image.segments().filter(|segment| is_code(segment.flags()));
        let address_in_file = code.into_iter().find_map(|segment| {
            let (offset, length) = segment.file_range();
            // Segments are mapped by whole pages.
            let within = mapping.offset.checked_sub(offset & !0xfff)?;
            (within < length + 0xfff).then_some((segment.address() & !0xfff) + within)
        })?;
        let bias = mapping.addresses.start.checked_sub(address_in_file)?;
        let range = |name| {
            let section = image.section_by_name(name)?;
            Some(section.address()..section.address() + section.size())
        };
        let bytes = |name| Some(image.section_by_name(name)?.data().ok()?.to_vec());
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: bytes(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: bytes(".eh_frame_hdr"),
            ..ExplicitModuleSectionInfo::default()
        };
        let build_id = image.build_id().ok().flatten().unwrap_or_default();
        let build_id = hex::encode(build_id);
        let module = Module::new(mapping.name.clone(), mapping.addresses.clone(), bias, sections);
        Some((bias, build_id, module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiling::stack::{CopyFile, Registers, copy};
    use crate::profiling::symbols::Symbols;

    #[test]
    fn mappings_of_code_are_read() {
        let line = "7f10-7f20 r-xp 00001000 08:01 99                /usr/lib/a b.so";
        let expected =
            CodeMapping { addresses: 0x7f10..0x7f20, offset: 0x1000, name: "/usr/lib/a b.so".to_owned() };
        assert_eq!(code_mapping(line), Some(expected));
        assert_eq!(code_mapping("7f10-7f20 rw-p 00001000 08:01 99 /usr/lib/a.so"), None);
        assert_eq!(code_mapping("7f10-7f20 r-xp 00000000 00:00 0"), None);
        assert!(code_mapping("7f10-7f20 r-xp 00000000 00:00 0 [vdso]").is_some());
        assert_eq!(code_mapping("no mapping"), None);
    }

    #[inline(never)]
    fn innermost(file: &CopyFile) -> usize {
        let length = copy(file.descriptor(), 0, &Registers::here());
        std::hint::black_box(length)
    }

    #[inline(never)]
    fn caller_of_innermost(file: &CopyFile) -> usize {
        std::hint::black_box(innermost(file))
    }

    /// Not the test itself, which a compiler may inline into what calls it.
    #[inline(never)]
    fn outermost(file: &CopyFile) -> usize {
        std::hint::black_box(caller_of_innermost(file))
    }

    #[test]
    fn the_callers_of_a_copied_stack_are_found_and_named() {
        let (file, program) = (CopyFile::new().unwrap(), Program::load().unwrap());
        let length = outermost(&file);
        let sample = file.read(0, length).unwrap();
        let addresses = program.callers(&sample, &mut UnwindCache::default());
        let symbols = Symbols::resolve(&program, addresses.iter().copied());
        let names: Vec<&str> = addresses.iter().filter_map(|address| symbols.name(*address)).collect();
        let at = names.iter().position(|name| name.ends_with("program::tests::innermost"));
        let at = at.unwrap_or_else(|| panic!("{names:?}"));
        assert!(names[at + 1].ends_with("program::tests::caller_of_innermost"), "{names:?}");
        assert!(names[at + 2].ends_with("program::tests::outermost"), "{names:?}");
        assert!(names.len() > at + 5, "the thread's first functions: {names:?}");
    }
}
