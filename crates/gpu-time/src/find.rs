//! Which libcupti is used. With the simulated driver it is that driver's own. Else it is one that the process has
//! mapped, then the one that CUTAP_CUPTI names. After these come the one beside the CUDA runtime in use and that of the
//! installed toolkit. A second one is never loaded.

use core::ffi::{CStr, c_char, c_int, c_void};
use cutap_calls::generated::gpu_time::{INSTALLED_FOLDERS, LIBRARY_FOLDERS, LIBRARY_NAMES};

/// Bytes of the longest path that is used.
const LONGEST: usize = 4096;

/// A path with its terminating zero.
pub struct PathText {
    bytes: [u8; LONGEST],
    length: usize,
}

impl PathText {
    const fn empty() -> Self {
        PathText { bytes: [0; LONGEST], length: 0 }
    }

    /// Pieces joined. None if they are too long.
    fn joined(pieces: &[&[u8]]) -> Option<PathText> {
        let mut path = PathText::empty();
        for piece in pieces {
            let end = path.length.checked_add(piece.len()).filter(|end| *end < LONGEST)?;
            path.bytes.get_mut(path.length..end)?.copy_from_slice(piece);
            path.length = end;
        }
        Some(path)
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    /// The path up to the last slash, without it.
    fn folder(&self) -> Option<&[u8]> {
        let slash = self.bytes().iter().rposition(|byte| *byte == b'/')?;
        self.bytes.get(..slash)
    }

    fn exists(&self) -> bool {
        // SAFETY: the path ends with a zero.
        unsafe { libc::access(self.as_ptr(), libc::R_OK) == 0 }
    }
}

/// Why there is no library.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No candidate exists.
    Missing,
    /// The loader refused it.
    NotLoaded,
}

/// A handle of the library that is used.
pub fn load() -> Result<*mut c_void, NotFound> {
    let path = simulated()
        .or_else(|| mapped(b"libcupti.so"))
        .or_else(named_by_user)
        .or_else(beside_runtime)
        .or_else(installed);
    let path = path.ok_or(NotFound::Missing)?;
    // SAFETY: the path ends with a zero. The library is never closed.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() { Err(NotFound::NotLoaded) } else { Ok(library) }
}

/// Whether the library in use is that of the simulated driver.
pub fn is_simulated() -> bool {
    simulated().is_some()
}

/// The library beside the simulated driver, if that is the driver of the process.
fn simulated() -> Option<PathText> {
    let driver = mapped(b"libcuda.so")?;
    // SAFETY: a loaded library is opened once more, asked for a symbol, and closed.
    let is_simulated = unsafe {
        let handle = libc::dlopen(driver.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let symbol = libc::dlsym(handle, c"CUTAP_SIM_PROFILER".as_ptr());
        libc::dlclose(handle);
        !symbol.is_null()
    };
    let path = PathText::joined(&[driver.folder()?, b"/libcupti.so"])?;
    (is_simulated && path.exists()).then_some(path)
}

/// The library of a wheel or a toolkit, by the place of the runtime.
fn beside_runtime() -> Option<PathText> {
    let runtime = mapped(b"libcudart.so")?;
    let folder = runtime.folder()?;
    let candidates = LIBRARY_FOLDERS.iter().flat_map(|beside| LIBRARY_NAMES.iter().map(move |name| (beside, name)));
    candidates
        .filter_map(|(beside, name)| PathText::joined(&[folder, b"/", beside.as_bytes(), b"/", name.as_bytes()]))
        .find(PathText::exists)
}

/// The library of the installed toolkit.
fn installed() -> Option<PathText> {
    let candidates = INSTALLED_FOLDERS.iter().flat_map(|folder| LIBRARY_NAMES.iter().map(move |name| (folder, name)));
    candidates
        .filter_map(|(folder, name)| PathText::joined(&[folder.as_bytes(), b"/", name.as_bytes()]))
        .find(PathText::exists)
}

fn named_by_user() -> Option<PathText> {
    // SAFETY: a C string. The result is NULL or a C string in the environment, which is copied here.
    let value = unsafe {
        let value = libc::getenv(c"CUTAP_CUPTI".as_ptr());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value)
    };
    PathText::joined(&[value.to_bytes()]).filter(|path| path.length > 0)
}

struct Search<'a> {
    prefix: &'a [u8],
    object_path: PathText,
}

/// The path of a loaded library whose file name begins so.
fn mapped(prefix: &[u8]) -> Option<PathText> {
    let mut search = Search { prefix, object_path: PathText::empty() };
    // SAFETY: the callback gets this Search, and keeps nothing of it.
    unsafe { libc::dl_iterate_phdr(Some(on_object), (&raw mut search).cast()) };
    (search.object_path.length > 0).then_some(search.object_path)
}

/// Copies the path of an object that is looked for. It must not call the loader, whose lock is held.
unsafe extern "C" fn on_object(object: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader gives an object with a name, and the search of `mapped`.
    let (name, search) = unsafe {
        let name = (*object).dlpi_name;
        if name.is_null() {
            return 0;
        }
        (CStr::from_ptr(name).to_bytes(), &mut *search.cast::<Search<'_>>())
    };
    let file = name.iter().rposition(|byte| *byte == b'/').and_then(|slash| name.get(slash + 1..)).unwrap_or(name);
    if !file.starts_with(search.prefix) {
        return 0;
    }
    match PathText::joined(&[name]) {
        Some(path) => {
            search.object_path = path;
            1
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let path = PathText::joined(&[b"/a/b", b"/", b"libcuda.so.1"]).unwrap();
        assert_eq!((path.folder(), path.bytes()), (Some(&b"/a/b"[..]), &b"/a/b/libcuda.so.1"[..]));
        assert!(PathText::joined(&[&[b'a'; LONGEST]]).is_none());
    }

    #[test]
    fn loaded_libraries() {
        let path = mapped(b"libc.so").unwrap();
        assert!(path.exists() && path.bytes().ends_with(b"/libc.so.6"));
        assert!(mapped(b"libnothing.so").is_none());
    }
}
