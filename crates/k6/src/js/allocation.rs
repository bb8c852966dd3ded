//! QuickJS's allocator: the system's functions, which the limit of the heap may refuse or must grant.

use std::alloc::{Layout, handle_alloc_error};
use std::ffi::c_void;

use rquickjs_sys as q;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(at: *mut c_void, size: usize) -> *mut c_void;
    fn free(at: *mut c_void);
    #[cfg_attr(target_vendor = "apple", link_name = "malloc_size")]
    fn malloc_usable_size(at: *const c_void) -> usize;
}

/// Decides about what is allocated.
pub(super) trait Watch {
    /// Whether a zeroed allocation of `size` bytes is refused.
    fn refuses_zeroed(&self, size: usize) -> bool;
    /// Whether an allocation of `size` bytes is refused.
    fn refuses(&self, size: usize) -> bool;
    /// Whether QuickJS might not notice a failed allocation, so that none may fail.
    fn must_grant(&self) -> bool;
}

/// Functions whose opaque pointer leads to a `T` that outlives the runtime.
pub(super) fn functions<T: Watch>() -> q::JSMallocFunctions {
    q::JSMallocFunctions {
        js_calloc: Some(zeroed::<T>),
        js_malloc: Some(new::<T>),
        js_free: Some(freed),
        js_realloc: Some(resized::<T>),
        js_malloc_usable_size: Some(usable_size),
    }
}

/// Bytes that may be used of what the system's functions allocated.
pub(super) unsafe extern "C" fn usable_size(at: *const c_void) -> q::size_t {
    // SAFETY: the memory is of these functions.
    unsafe { malloc_usable_size(at) as q::size_t }
}

unsafe extern "C" fn zeroed<T: Watch>(watch: *mut c_void, count: q::size_t, size: q::size_t) -> *mut c_void {
    // SAFETY: the pointer is as `functions` says; QuickJS has seen that the product is a size.
    unsafe {
        match (*watch.cast::<T>()).refuses_zeroed((count * size) as usize) {
            true => std::ptr::null_mut(),
            false => calloc(count as usize, size as usize),
        }
    }
}

unsafe extern "C" fn new<T: Watch>(watch: *mut c_void, size: q::size_t) -> *mut c_void {
    // SAFETY: the pointer is as `functions` says; any size may be asked for.
    unsafe { granted(&*watch.cast::<T>(), size as usize, |size| malloc(size)) }
}

unsafe extern "C" fn resized<T: Watch>(watch: *mut c_void, at: *mut c_void, size: q::size_t) -> *mut c_void {
    // SAFETY: the pointer is as `functions` says; the memory is of these functions.
    unsafe { granted(&*watch.cast::<T>(), size as usize, |size| realloc(at, size)) }
}

unsafe extern "C" fn freed(_: *mut c_void, at: *mut c_void) {
    // SAFETY: the memory is of these functions.
    unsafe { free(at) }
}

/// Memory. The process ends if the system has none and QuickJS might not notice.
fn granted(watch: &impl Watch, size: usize, from_system: impl FnOnce(usize) -> *mut c_void) -> *mut c_void {
    if watch.refuses(size) {
        return std::ptr::null_mut();
    }
    let at = from_system(size);
    if at.is_null() && watch.must_grant() {
        handle_alloc_error(Layout::from_size_align(size, 1).unwrap_or(Layout::new::<u8>()));
    }
    at
}
