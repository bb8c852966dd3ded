//! How names are resolved where the C library is part of the program.
//!
//! glibc would load the modules that the machine's `/etc/nsswitch.conf` names, and with them the machine's own C library
//! beside the one inside, which may end the process. `files` and `dns` are part of glibc 2.34 and later:
//! `/etc/hosts` and the machine's name servers, as with musl and Go. `cargo xtask dist --check` resolves a name beside a
//! configuration that would not.

#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
mod inside {
    #![allow(unsafe_code, reason = "glibc has no safe interface; tried by `cargo xtask dist --check`")]

    use std::ffi::{CStr, c_char, c_int};

    unsafe extern "C" {
        /// <https://sourceware.org/glibc/manual/latest/html_node/Name-Service-Switch.html>; declared in `nss.h`.
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    const SERVICES: [(&CStr, &CStr); 2] = [(c"hosts", c"files dns"), (c"passwd", c"files")];

    pub(super) fn configure() {
        for (database, services) in SERVICES {
            // SAFETY: both are C strings that live for ever, and no other thread runs yet.
            let result = unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
            // It fails without memory only; names are then resolved as the machine says.
            let _ = result;
        }
    }
}

/// Called before any other thread runs.
pub(crate) fn configure() {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    inside::configure();
}
