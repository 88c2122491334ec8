//! PTX where there is no `ptxas`: NVIDIA's library nvJitLink, which PyTorch and CuPy bring with them. It is loaded into
//! this process at the first PTX, and not before.

use crate::base::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The library's name.
pub(crate) const NAME: &str = "nvJitLink";

/// Where the library is, if it is neither loaded nor in a folder of the loader.
const VARIABLE: &str = "CUTAP_NVJITLINK";

/// Versions of the library, the newest first: file name, version in the names of its functions, folder in `nvidia` of
/// wheels.
const VERSIONS: [(&CStr, &str, &str); 2] =
    [(c"libnvJitLink.so.13", "13_0", "cu13/lib"), (c"libnvJitLink.so.12", "12_0", "nvjitlink/lib")];
const TOOLKIT: &str = "/usr/local/cuda/lib64";

/// nvJitLinkHandle
type Handle = *mut c_void;
/// nvJitLinkResult: 0 is success.
type Code = c_int;
/// NVJITLINK_INPUT_PTX
const PTX: c_int = 2;

type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Code;
type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> Code;
type Complete = unsafe extern "C" fn(Handle) -> Code;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Code;
type Bytes = unsafe extern "C" fn(Handle, *mut c_void) -> Code;
type Destroy = unsafe extern "C" fn(*mut Handle) -> Code;

/// The functions that are used.
struct Library {
    create: Create,
    add_data: AddData,
    complete: Complete,
    cubin_size: Size,
    cubin: Bytes,
    log_size: Size,
    log: Bytes,
    destroy: Destroy,
}

/// A handle that is destroyed at the end.
struct Work<'a> {
    library: &'a Library,
    handle: Handle,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is of this library, and is not used after.
        unsafe { (self.library.destroy)(&mut self.handle) };
    }
}

impl Library {
    /// The functions of a loaded library.
    fn of(library: *mut c_void, version: &str) -> Option<Self> {
        let find = |name: &str| {
            let name = CString::new(format!("__nvJitLink{name}_{version}")).ok()?;
            // SAFETY: a handle of dlopen that is never closed.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: functions of nvJitLink with these prototypes, which are the same in all versions of this name.
        unsafe {
            Some(Self {
                create: std::mem::transmute::<*mut c_void, Create>(find("Create")?),
                add_data: std::mem::transmute::<*mut c_void, AddData>(find("AddData")?),
                complete: std::mem::transmute::<*mut c_void, Complete>(find("Complete")?),
                cubin_size: std::mem::transmute::<*mut c_void, Size>(find("GetLinkedCubinSize")?),
                cubin: std::mem::transmute::<*mut c_void, Bytes>(find("GetLinkedCubin")?),
                log_size: std::mem::transmute::<*mut c_void, Size>(find("GetErrorLogSize")?),
                log: std::mem::transmute::<*mut c_void, Bytes>(find("GetErrorLog")?),
                destroy: std::mem::transmute::<*mut c_void, Destroy>(find("Destroy")?),
            })
        }
    }

    /// The library that is loaded already, or else the first one that can be.
    fn load() -> Option<Self> {
        let open = |path: &CStr, more: c_int| {
            // SAFETY: the constructors of NVIDIA's library run, as in a program that is linked with it.
            let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | more) };
            (!library.is_null()).then_some(library)
        };
        let named = std::env::var_os(VARIABLE).and_then(|path| CString::new(path.as_bytes()).ok());
        if let Some(library) = named.and_then(|path| open(&path, 0)) {
            return VERSIONS.iter().find_map(|(_, version, _)| Self::of(library, version));
        }
        let loaded =
            || VERSIONS.iter().find_map(|(name, version, _)| Self::of(open(name, libc::RTLD_NOLOAD)?, version));
        let in_folders = || VERSIONS.iter().find_map(|(name, version, _)| Self::of(open(name, 0)?, version));
        let beside = || {
            folders().iter().find_map(|(folder, name, version)| {
                let path = folder.join(name.to_str().ok()?);
                let path = path.is_file().then(|| CString::new(path.as_os_str().as_bytes()).ok())??;
                Self::of(open(&path, 0)?, version)
            })
        };
        loaded().or_else(in_folders).or_else(beside)
    }

    fn compile(&self, text: &[u8], architecture: &str) -> Result<Vec<u8>> {
        let refused = |why: String| Error::Ptx { compiler: NAME.to_owned(), why };
        let option = CString::new(format!("-arch={architecture}")).unwrap_or_default();
        // A text that ends with a zero.
        let text = CString::new(text).map_err(|_| refused("it has a zero inside".to_owned()))?;
        let text = text.as_bytes_with_nul();
        let mut work = Work { library: self, handle: std::ptr::null_mut() };
        // SAFETY: the arguments are as nvJitLink.h says, and live until the calls return.
        unsafe {
            let created = (self.create)(&mut work.handle, 1, [option.as_ptr()].as_ptr());
            if created != 0 || work.handle.is_null() {
                return Err(refused(format!("it does not begin, with code {created}")));
            }
            let mut code = (self.add_data)(work.handle, PTX, text.as_ptr().cast(), text.len(), c"PTX".as_ptr());
            if code == 0 {
                code = (self.complete)(work.handle);
            }
            let mut size = 0;
            if code == 0 {
                code = (self.cubin_size)(work.handle, &mut size);
            }
            let mut cubin = vec![0_u8; size];
            if code == 0 {
                code = (self.cubin)(work.handle, cubin.as_mut_ptr().cast());
            }
            if code == 0 { Ok(cubin) } else { Err(refused(self.complaint(work.handle, code))) }
        }
    }

    /// What the library says of an error.
    ///
    /// # Safety
    /// A handle of this library.
    unsafe fn complaint(&self, handle: Handle, code: Code) -> String {
        let mut size = 0;
        // SAFETY: the caller's promise; the log has `size` bytes.
        let log = unsafe {
            (self.log_size)(handle, &mut size);
            let mut log = vec![0_u8; size + 1];
            (self.log)(handle, log.as_mut_ptr().cast());
            log
        };
        let text = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
        if lines.is_empty() { format!("code {code}") } else { lines.join("; ") }
    }
}

/// Folders that may have the library: those of wheels beside a library of NVIDIA that this process has, and that of
/// the toolkit.
fn folders() -> Vec<(PathBuf, &'static CStr, &'static str)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let roots: BTreeSet<&str> = maps.lines().filter_map(root_of_wheels).collect();
    let in_root = |root: &&str| VERSIONS.map(|(name, version, folder)| (Path::new(root).join(folder), name, version));
    let of_wheels = roots.iter().flat_map(in_root);
    of_wheels.chain(VERSIONS.map(|(name, version, _)| (PathBuf::from(TOOLKIT), name, version))).collect()
}

/// The folder `nvidia` of a line of `/proc/self/maps`.
fn root_of_wheels(line: &str) -> Option<&str> {
    const FOLDER: &str = "/nvidia/";
    let path = line.get(line.find('/')?..)?;
    let before = path.find("-packages/nvidia/").map(|at| at + "-packages".len())?;
    path.get(..before + FOLDER.len() - 1)
}

/// A cubin of PTX. None: there is no such library.
pub(crate) fn compile(text: &[u8], architecture: &str) -> Option<Result<Vec<u8>>> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    LIBRARY.get_or_init(Library::load).as_ref().map(|library| library.compile(text, architecture))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_of_a_mapping() {
        let line = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 12 \
                    /usr/lib/python3/dist-packages/nvidia/cublas/lib/libcublas.so.12";
        assert_eq!(root_of_wheels(line), Some("/usr/lib/python3/dist-packages/nvidia"));
        assert_eq!(root_of_wheels("7f00-7f01 rw-p 0 00:00 0 [heap]"), None);
        assert_eq!(root_of_wheels("7f00-7f01 r-xp 0 fe:00 1 /usr/lib/nvidia/libcuda.so.1"), None);
    }

    /// CUTAP_NVJITLINK names the library; without it and without an installed one there is nothing to test.
    #[test]
    fn a_cubin_of_ptx() {
        let ptx = include_bytes!("../../tests/cubins/small.ptx");
        let Some(cubin) = compile(ptx, "sm_90") else {
            return println!("skipped: PTX by nvJitLink (CUTAP_NVJITLINK names no library)");
        };
        let contents = crate::cubin::contents(&cubin.unwrap()).unwrap();
        assert!(contents.architecture == 90 && !contents.kernels.is_empty());
        let error = compile(b".version 8.8\n.target sm_90\nnonsense\n", "sm_90").unwrap().unwrap_err().to_string();
        assert!(error.starts_with("nvJitLink refused the module's PTX: "), "{error}");
    }
}
