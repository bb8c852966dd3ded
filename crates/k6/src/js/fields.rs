//! Fields of a QuickJS runtime that its interface does not reach, and that each stack must have its own values of.
//!
//! `current_stack_frame` is the chain of the calls under way: exceptions and stack traces follow it, so that it must not lead
//! into another stack. `stack_limit` is where the stack ends. `job_list` are the promise jobs that wait. Where they are in the
//! runtime is not looked up in a header but found, once, in a runtime of the library that is linked: by what they do. A library
//! in which they cannot be found is not usable, which every test of scripts shows.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use rquickjs_sys as q;

const WORD: usize = size_of::<usize>();
/// Frames under way when [`probe`] is called: its own, of two functions, and of the script.
const PROBED_FRAMES: usize = 4;
const PROBED_SCRIPT: &std::ffi::CStr = c"(function () { return (function () { return probe(); })(); })();";

/// Where the fields are, in words from the beginning of the runtime.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    stack_limit: usize,
    frame: usize,
    jobs: usize,
}

/// What each stack has its own values of.
#[derive(Debug)]
pub(super) struct StackState {
    frame: usize,
    stack_limit: usize,
    /// The first and the last job that wait; none where there is none.
    jobs: Option<[usize; 2]>,
}

impl StackState {
    /// Whether jobs wait.
    pub(super) fn has_jobs(&self) -> bool {
        self.jobs.is_some()
    }

    /// Nothing runs yet, on a stack that ends at `limit`.
    pub(super) fn new(limit: usize) -> StackState {
        StackState { frame: 0, stack_limit: limit, jobs: None }
    }
}

impl Fields {
    /// Gives the runtime the values of another stack, and keeps those that it had in their place.
    pub(super) fn exchange(self, runtime: *mut q::JSRuntime, state: &mut StackState) {
        let words = runtime.cast::<usize>();
        // SAFETY: the runtime is alive, the offsets are inside it, and only this thread uses it. The list of jobs is circular,
        // its head in the runtime: `prev` then `next`, as in every element.
        unsafe {
            ptr::swap(words.add(self.frame), &raw mut state.frame);
            ptr::swap(words.add(self.stack_limit), &raw mut state.stack_limit);
            let head = words.add(self.jobs);
            let had = (*head.add(1) != head as usize).then(|| [*head.add(1), *head]);
            let [first, last] = state.jobs.unwrap_or([head as usize; 2]);
            (*head.add(1), *head) = (first, last);
            *(first as *mut usize) = head as usize;
            *(last as *mut usize).add(1) = head as usize;
            state.jobs = had;
        }
    }
}

impl Fields {
    /// Adds the jobs that wait on a stack that is no longer used to those of the runtime, which frees them with itself.
    pub(super) fn append_jobs(self, runtime: *mut q::JSRuntime, state: &mut StackState) {
        let Some([first, last]) = state.jobs.take() else { return };
        // SAFETY: as of `exchange`.
        unsafe {
            let head = runtime.cast::<usize>().add(self.jobs);
            let before = *head as *mut usize;
            *before.add(1) = first;
            *(first as *mut usize) = before as usize;
            *(last as *mut usize).add(1) = head as usize;
            *head = last;
        }
    }
}

/// Where the fields are.
pub(super) fn fields() -> Fields {
    static FIELDS: OnceLock<Fields> = OnceLock::new();
    *FIELDS.get_or_init(|| find().expect("the linked QuickJS has the fields that its runtime is known by"))
}

fn find() -> Option<Fields> {
    let mut size = 0_usize;
    let functions = q::JSMallocFunctions {
        js_calloc: Some(first_sized_calloc),
        js_malloc: Some(plain_malloc),
        js_free: Some(plain_free),
        js_realloc: Some(plain_realloc),
        js_malloc_usable_size: None,
    };
    // SAFETY: the runtime and the context are made and freed here; only this thread knows them. The size outlives both.
    unsafe {
        let runtime = q::JS_NewRuntime2(&raw const functions, (&raw mut size).cast());
        let context = q::JS_NewContext(runtime);
        let probed = Probed { runtime, size };
        let stack_limit = find_stack_limit(probed);
        let frame = find_frame(probed, context);
        let jobs = find_jobs(probed, context);
        q::JS_FreeContext(context);
        q::JS_FreeRuntime(runtime);
        Some(Fields { stack_limit: stack_limit?, frame: frame?, jobs: jobs? })
    }
}

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(at: *mut c_void, size: usize) -> *mut c_void;
    fn free(at: *mut c_void);
}

/// Notes the size of what is allocated first: the runtime.
unsafe extern "C" fn first_sized_calloc(
    noted: *mut c_void,
    count: q::size_t,
    size: q::size_t,
) -> *mut c_void {
    // SAFETY: called with the address of the size in `find`.
    unsafe {
        let noted = &mut *noted.cast::<usize>();
        if *noted == 0 {
            *noted = (count * size) as usize;
        }
        calloc(count as usize, size as usize)
    }
}

unsafe extern "C" fn plain_malloc(_: *mut c_void, size: q::size_t) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { malloc(size as usize) }
}

unsafe extern "C" fn plain_realloc(_: *mut c_void, at: *mut c_void, size: q::size_t) -> *mut c_void {
    // SAFETY: the memory is of these functions.
    unsafe { realloc(at, size as usize) }
}

unsafe extern "C" fn plain_free(_: *mut c_void, at: *mut c_void) {
    // SAFETY: the memory is of these functions.
    unsafe { free(at) }
}

/// A runtime that is looked into.
#[derive(Debug, Clone, Copy)]
struct Probed {
    runtime: *mut q::JSRuntime,
    /// Bytes of it.
    size: usize,
}

impl Probed {
    /// Every word of the runtime.
    ///
    /// # Safety
    /// The runtime is alive.
    unsafe fn words(self) -> Vec<usize> {
        let word = |index: usize| {
            // SAFETY: as of the function; the index is inside what was allocated for the runtime.
            unsafe { ptr::read_volatile(self.runtime.cast::<usize>().add(index)) }
        };
        (0..self.size / WORD).map(word).collect()
    }
}

/// The only one of these places; none where there is none or more than one.
fn only(mut places: impl Iterator<Item = usize>) -> Option<usize> {
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// The word that falls by as much as the size of the stack grows.
///
/// # Safety
/// The runtime is alive, and no script runs.
unsafe fn find_stack_limit(probed: Probed) -> Option<usize> {
    const GROWN_BY: usize = 0x1230;
    let with_size = |size: usize| {
        // SAFETY: as of the function.
        unsafe {
            q::JS_SetMaxStackSize(probed.runtime, size as _);
            probed.words()
        }
    };
    let (before, after) = (with_size(0x40000), with_size(0x40000 + GROWN_BY));
    only((0..before.len()).filter(|word| before[*word].wrapping_sub(after[*word]) == GROWN_BY))
}

/// What [`look`] looks for, and found.
struct Probe {
    of: Probed,
    /// An address below which the stack has nothing of the probed script.
    stack_base: usize,
    found: Vec<usize>,
}

/// The word that begins a chain of as many frames as are under way.
///
/// # Safety
/// Runtime and context are alive, and no script runs.
unsafe fn find_frame(of: Probed, context: *mut q::JSContext) -> Option<usize> {
    let mut probe = Probe { of, stack_base: 0, found: Vec::new() };
    probe.stack_base = &raw const probe as usize;
    // SAFETY: as of the function; the probe is alive while the script runs.
    unsafe {
        q::JS_SetRuntimeOpaque(of.runtime, (&raw mut probe).cast());
        let global = q::JS_GetGlobalObject(context);
        let function = q::JS_NewCFunction2(context, Some(look), c"probe".as_ptr(), 0, 0, 0);
        q::JS_SetPropertyStr(context, global, c"probe".as_ptr(), function);
        q::JS_FreeValue(context, global);
        let (text, file) = (PROBED_SCRIPT.as_ptr(), c"probe".as_ptr());
        let result = q::JS_Eval(context, text, PROBED_SCRIPT.count_bytes() as _, file, 0);
        q::JS_FreeValue(context, result);
        let idle = of.words();
        only(probe.found.into_iter().filter(|word| idle[*word] == 0))
    }
}

unsafe extern "C" fn look(
    context: *mut q::JSContext,
    _this: q::JSValue,
    _count: c_int,
    _arguments: *mut q::JSValue,
) -> q::JSValue {
    let here = 0_usize;
    let lowest = &raw const here as usize;
    // SAFETY: called by the script of `find_frame`, whose probe is alive. Only aligned addresses of this stack, between this
    // call and the one that began the script, are read.
    unsafe {
        let probed = &mut *q::JS_GetRuntimeOpaque(q::JS_GetRuntime(context)).cast::<Probe>();
        let is_frame =
            |address: usize| (lowest..probed.stack_base).contains(&address) && address.is_multiple_of(WORD);
        let frames = |first: usize| {
            let next =
                |frame: &usize| Some(ptr::read_volatile(*frame as *const usize)).filter(|f| is_frame(*f));
            let chain: Vec<usize> = std::iter::successors(Some(first).filter(|f| is_frame(*f)), next)
                .take(PROBED_FRAMES + 1)
                .collect();
            let ends = chain.last().is_some_and(|last| ptr::read_volatile(*last as *const usize) == 0);
            if ends { chain.len() } else { 0 }
        };
        let all = probed.of.words();
        probed.found = (0..all.len()).filter(|word| frames(all[*word]) == PROBED_FRAMES).collect();
    }
    q::JS_UNDEFINED
}

/// The word where a list begins that was empty and has one element once one job waits.
///
/// # Safety
/// Runtime and context are alive, and no script runs.
unsafe fn find_jobs(probed: Probed, context: *mut q::JSContext) -> Option<usize> {
    // SAFETY: as of the function. What a word is followed to was the address of the word itself before the job, so that it is
    // the address of a list's element now.
    unsafe {
        let before = probed.words();
        q::JS_EnqueueJob(context, Some(no_job), 0, ptr::null_mut());
        let after = probed.words();
        let address = |word: usize| probed.runtime.cast::<usize>().add(word) as usize;
        let was_empty = |word: &usize| before[*word] == address(*word) && before[*word + 1] == address(*word);
        let has_one = |word: &usize| after[*word] == after[*word + 1] && after[*word] != address(*word);
        let found = only((0..after.len() - 1).filter(|word| was_empty(word) && has_one(word)));
        let mut of = ptr::null_mut();
        q::JS_ExecutePendingJob(probed.runtime, &raw mut of);
        found
    }
}

unsafe extern "C" fn no_job(_: *mut q::JSContext, _: c_int, _: *mut q::JSValue) -> q::JSValue {
    q::JS_UNDEFINED
}

const _: () = assert!(size_of::<*mut c_void>() == WORD, "a pointer is one word");
