//! Fields of a QuickJS runtime that its interface does not reach, and that each stack must have its own values of.
//!
//! `current_stack_frame` is the chain of the calls under way: exceptions and stack traces follow it, so that it must not lead
//! into another stack. `stack_limit` is where the stack ends. `job_list` are the promise jobs that wait. `malloc_size` is how much
//! of the heap is in use. Where they are in the runtime is not looked up in a header but found, once, in a runtime of the library
//! that is linked: by what they do. A library in which they cannot be found is not usable: no heap is made.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use rquickjs_sys as q;

use super::allocation;
use super::context_fields::{ContextFields, only};
use super::loaded::is_counted_in_front;

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
    used: usize,
    pub(super) context: ContextFields,
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
    ///
    /// # Safety
    /// The runtime is alive, and the state of one of its stacks.
    pub(super) unsafe fn exchange(self, runtime: *mut q::JSRuntime, state: &mut StackState) {
        let words = runtime.cast::<usize>();
        // SAFETY: as of the function; the offsets are inside the runtime, and only this thread uses it.
        unsafe {
            ptr::swap(words.add(self.frame), &raw mut state.frame);
            ptr::swap(words.add(self.stack_limit), &raw mut state.stack_limit);
            self.exchange_jobs(runtime, &mut state.jobs);
        }
    }

    /// Gives the stack another end; the one that it had.
    ///
    /// # Safety
    /// The runtime is alive.
    pub(super) unsafe fn exchange_stack_limit(self, runtime: *mut q::JSRuntime, limit: usize) -> usize {
        // SAFETY: as of the function; the offset is inside the runtime.
        unsafe { ptr::replace(runtime.cast::<usize>().add(self.stack_limit), limit) }
    }

    /// Bytes of the heap that are in use, as its limit counts them.
    ///
    /// # Safety
    /// The runtime is alive.
    pub(super) unsafe fn used(self, runtime: *mut q::JSRuntime) -> usize {
        // SAFETY: as of the function; the offset is inside the runtime.
        unsafe { *runtime.cast::<usize>().add(self.used) }
    }

    /// Gives the runtime these jobs, and keeps those that it had in their place.
    ///
    /// # Safety
    /// The runtime is alive, and the jobs are of it.
    pub(super) unsafe fn exchange_jobs(self, runtime: *mut q::JSRuntime, jobs: &mut Jobs) {
        // SAFETY: as of `exchange`. The list is circular, its head in the runtime: previous and next, as in every job. Jobs that
        // are in no list belong to the runtime that they were taken from, whose `Context` or fiber keeps them.
        unsafe {
            let head = runtime.cast::<usize>().add(self.jobs).cast::<Job>();
            let had = ((*head).next != head).then(|| [(*head).next, (*head).previous]);
            let [first, last] = jobs.0.unwrap_or([head; 2]);
            ((*head).next, (*head).previous) = (first, last);
            (*first).previous = head;
            (*last).next = head;
            jobs.0 = had;
        }
    }

    /// Frees the jobs that wait, without running them.
    ///
    /// # Safety
    /// The runtime is alive, and runs none of them.
    pub(super) unsafe fn discard_jobs(self, raw: *mut q::JSRuntime) {
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

/// Where the fields are; none where they are not found.
pub(super) fn fields() -> Option<Fields> {
    static FIELDS: OnceLock<Option<Fields>> = OnceLock::new();
    *FIELDS.get_or_init(find)
}

fn find() -> Option<Fields> {
    // SAFETY: the runtime and the context are made and freed here; only this thread knows them.
    unsafe {
        let runtime = q::JS_NewRuntime();
        let context = q::JS_NewContext(runtime);
        let probed = Probed { runtime, size: allocation::usable_size(runtime.cast()) as usize };
        let stack_limit = find_stack_limit(probed);
        let frame = find_frame(probed, context);
        let jobs = find_jobs(probed, context);
        let used = find_used(probed);
        let fields_of_context = ContextFields::find(runtime, context);
        let is_counted = has_counted_modules(context);
        q::JS_FreeContext(context);
        q::JS_FreeRuntime(runtime);
        is_counted.then_some(Fields {
            stack_limit: stack_limit?,
            frame: frame?,
            jobs: jobs?,
            used: used?,
            context: fields_of_context?,
        })
    }
}

/// A runtime that is looked into.
#[derive(Debug, Clone, Copy)]
struct Probed {
    runtime: *mut q::JSRuntime,
    /// Bytes that are allocated for it.
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

/// The word that grows by the size of what is allocated, and at most by a few bytes more.
///
/// # Safety
/// The runtime is alive, and no script runs.
unsafe fn find_used(probed: Probed) -> Option<usize> {
    const MOST_OVERHEAD: usize = 16;
    // SAFETY: as of the function; what is allocated is freed here.
    unsafe {
        let before = probed.words();
        let allocated = q::js_malloc_rt(probed.runtime, 0x1230);
        let after = probed.words();
        let size = q::js_malloc_usable_size_rt(probed.runtime, allocated) as usize;
        q::js_free_rt(probed.runtime, allocated);
        let grown =
            |word: &usize| (size..=size + MOST_OVERHEAD).contains(&after[*word].wrapping_sub(before[*word]));
        only((0..before.len()).filter(grown))
    }
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
