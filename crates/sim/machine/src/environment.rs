//! The environment and standard error of the program, without the locks of Rust's standard library: fork copies a lock
//! that another thread holds.

use std::ffi::CStr;

/// A variable of the environment. Bytes that are no UTF-8 are replaced.
pub fn variable(name: &CStr) -> Option<String> {
    // SAFETY: a C string. The result is NULL or a C string in the environment, which is copied here.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Writes a line to standard error. A closed standard error is no reason to fail.
pub fn print_to_stderr(line: &str) {
    let line = format!("{line}\n");
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the bytes are there.
        let written = unsafe { libc::write(2, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
