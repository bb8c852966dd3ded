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

use super::loaded::is_counted_in_front;
use super::runtime::Runtime;

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
    jobs: Jobs,
}

/// Promise jobs that are in no list of a runtime: the first and the last; none where there is none.
#[derive(Debug, Default)]
pub(super) struct Jobs(Option<[*mut Job; 2]>);

/// A promise job that waits, as QuickJS makes it: an element of a circular list.
#[repr(C)]
struct Job {
    previous: *mut Job,
    next: *mut Job,
    /// It is not counted as a reference of the context.
    context: *mut q::JSContext,
    function: q::JSJobFunc,
    count: c_int,
    arguments: [q::JSValue; 0],
}

impl StackState {
    /// Nothing runs yet, on a stack that ends at `limit`.
    pub(super) fn new(limit: usize) -> StackState {
        StackState { frame: 0, stack_limit: limit, jobs: Jobs::default() }
    }
}

impl Fields {
    /// Gives the runtime the values of another stack, and keeps those that it had in their place.
    pub(super) fn exchange(self, runtime: &Runtime, state: &mut StackState) {
        let words = runtime.raw().cast::<usize>();
        // SAFETY: the runtime is alive, the offsets are inside it, and only this thread uses it.
        unsafe {
            ptr::swap(words.add(self.frame), &raw mut state.frame);
            ptr::swap(words.add(self.stack_limit), &raw mut state.stack_limit);
        }
        self.exchange_jobs(runtime, &mut state.jobs);
    }

    /// Gives the runtime these jobs, and keeps those that it had in their place.
    pub(super) fn exchange_jobs(self, runtime: &Runtime, jobs: &mut Jobs) {
        // SAFETY: as of `exchange`. The list is circular, its head in the runtime: previous and next, as in every job. Jobs that
        // are in no list belong to the runtime that they were taken from, whose `Context` or fiber keeps them.
        unsafe {
            let head = runtime.raw().cast::<usize>().add(self.jobs).cast::<Job>();
            let had = ((*head).next != head).then(|| [(*head).next, (*head).previous]);
            let [first, last] = jobs.0.unwrap_or([head; 2]);
            ((*head).next, (*head).previous) = (first, last);
            (*first).previous = head;
            (*last).next = head;
            jobs.0 = had;
        }
    }

    /// Frees the jobs that wait, without running them.
    pub(super) fn discard_jobs(self, runtime: &Runtime) {
        let raw = runtime.raw();
        // SAFETY: as of `exchange_jobs`; `find_jobs` has seen that jobs are made so. Each is out of the list before its values are
        // freed, none of which needs its context.
        unsafe {
            let head = raw.cast::<usize>().add(self.jobs).cast::<Job>();
            while (*head).next != head {
                let job = (*head).next;
                (*head).next = (*job).next;
                (*(*job).next).previous = head;
                let arguments = (&raw const (*job).arguments).cast::<q::JSValue>();
                for index in 0..(*job).count.max(0) as usize {
                    q::JS_FreeValueRT(raw, *arguments.add(index));
                }
                q::js_free_rt(raw, job.cast());
            }
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
        let is_counted = has_counted_modules(context);
        q::JS_FreeContext(context);
        q::JS_FreeRuntime(runtime);
        is_counted.then_some(Fields { stack_limit: stack_limit?, frame: frame?, jobs: jobs? })
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

/// Whether references of modules are counted where they are read.
///
/// # Safety
/// The context is alive.
unsafe fn has_counted_modules(context: *mut q::JSContext) -> bool {
    let flags = (q::JS_EVAL_TYPE_MODULE | q::JS_EVAL_FLAG_COMPILE_ONLY) as c_int;
    // SAFETY: as of the function; the text ends with a zero, and its length is without it.
    unsafe {
        let module = q::JS_Eval(context, c"0".as_ptr(), 1, c"probe".as_ptr(), flags);
        let is_module = q::JS_VALUE_GET_TAG(module) == q::JS_TAG_MODULE;
        let is_counted = is_module && is_counted_in_front(context, module);
        q::JS_FreeValue(context, module);
        is_counted
    }
}

/// The word where a list begins that was empty and has one element once one job waits. None where that is not made as [`Job`] says.
///
/// # Safety
/// Runtime and context are alive, and no script runs.
unsafe fn find_jobs(probed: Probed, context: *mut q::JSContext) -> Option<usize> {
    // SAFETY: as of the function. What a word is followed to was the address of the word itself before the job, so that it is
    // the address of a list's element now.
    unsafe {
        let before = probed.words();
        let (function, mut arguments): (q::JSJobFunc, _) = (Some(no_job), [q::JS_TRUE, q::JS_NULL]);
        q::JS_EnqueueJob(context, function, arguments.len() as c_int, arguments.as_mut_ptr());
        let after = probed.words();
        let address = |word: usize| probed.runtime.cast::<usize>().add(word) as usize;
        let was_empty = |word: &usize| before[*word] == address(*word) && before[*word + 1] == address(*word);
        let has_one = |word: &usize| after[*word] == after[*word + 1] && after[*word] != address(*word);
        let found = only((0..after.len() - 1).filter(|word| was_empty(word) && has_one(word)));
        let is_job = |job: *const Job| {
            let tag = |index: usize| {
                q::JS_VALUE_GET_TAG(*(&raw const (*job).arguments).cast::<q::JSValue>().add(index))
            };
            // In this order nothing is read that is not known to be there.
            (*job).context == context
                && (*job).function.map(|it| it as usize) == function.map(|it| it as usize)
                && (*job).count == 2
                && [tag(0), tag(1)] == [q::JS_TAG_BOOL, q::JS_TAG_NULL]
        };
        let found = found.filter(|word| is_job(after[*word] as *const Job));
        let mut of = ptr::null_mut();
        q::JS_ExecutePendingJob(probed.runtime, &raw mut of);
        found
    }
}

unsafe extern "C" fn no_job(_: *mut q::JSContext, _: c_int, _: *mut q::JSValue) -> q::JSValue {
    q::JS_UNDEFINED
}

const _: () = assert!(size_of::<*mut c_void>() == WORD, "a pointer is one word");
