//! The environment variables that bring cutap into a program. All other variables keep their value and their
//! place.

use crate::base::error::{Error, Result};
use cutap_calls::Layer;
use cutap_calls::filter::wants_layer;
use cutap_calls::generated::gpu_time::{INJECTION_VARIABLE, NO_INJECTION};
use cutap_trace::Filter;
use cutap_wire::control::{ENV_NVTX, ENV_OTHER_NVTX, ENV_RUN};
use cutap_wire::sanitizer;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Name of the preload in its folder.
pub const PRELOAD: &str = "libcutap_preload.so";

/// Name of the injection in its folder.
pub const GPU_TIME: &str = "libcutap_gpu_time.so";
/// Name of the hook library behind `--limit-memory`.
pub const LIMIT: &str = "cutap-limit";
/// Name of the hook library behind `--inject`, as readers name what did something to a call.
pub const INJECT: &str = "cutap-inject";
/// The injection that the user named, which ours loads behind itself.
const OTHER_INJECTION: &str = "CUTAP_INJECTION64_PATH";

/// What is set for the program.
#[derive(Debug)]
pub struct Variables {
    /// `LD_PRELOAD`, `CUTAP_RUN`, with a driver of cutap `LD_LIBRARY_PATH`, and what the program takes out again
    /// where cutap put a sanitizer's runtime first.
    pub set: Vec<(&'static str, OsString)>,
}

impl Variables {
    /// `sanitizer` is the runtime that the program itself names, `driver` the folder of a driver of cutap.
    /// `hooks` are the hook libraries: they stand behind ours and in front of all others.
    pub fn new(
        preload: &Path,
        hooks: &[&OsStr],
        run: &Path,
        driver: Option<&Path>,
        sanitizer: Option<&str>,
    ) -> Variables {
        let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        let (list, runtime) = preloads(preload, hooks, &before, sanitizer);
        let mut set = vec![("LD_PRELOAD", list), (ENV_RUN, run.as_os_str().to_owned())];
        set.extend(runtime.map(|bytes| (sanitizer::ENV, bytes.to_string().into())));
        if let Some(driver) = driver {
            let mut path = driver.as_os_str().to_owned();
            if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
                path.push(":");
                path.push(before);
            }
            set.push(("LD_LIBRARY_PATH", path));
        }
        Variables { set }
    }

    /// Adds a library that is preloaded behind all others.
    pub fn with_preload(mut self, library: &Path) -> Variables {
        for (_, list) in self.set.iter_mut().filter(|(name, _)| *name == "LD_PRELOAD") {
            list.push(":");
            list.push(library);
        }
        self
    }

    /// Adds the injection that takes GPU times, where libcuda's question for it is not answered.
    pub fn with_gpu_time(mut self, injection: &Path) -> Variables {
        let user_path = std::env::var_os(INJECTION_VARIABLE).filter(|path| !path.is_empty() && path != NO_INJECTION);
        let is_foreign = |path: &OsString| Path::new(path).file_name() != Some(OsStr::new(GPU_TIME));
        self.set.extend(user_path.filter(is_foreign).map(|path| (OTHER_INJECTION, path)));
        self.set.push((INJECTION_VARIABLE, injection.as_os_str().to_owned()));
        self
    }

    /// Adds the injection that takes ranges of NVTX, if the filter wants some: the preload. A program that wants none
    /// is left without.
    pub fn with_nvtx(mut self, preload: &Path, filter: &Filter) -> Variables {
        const NO_INJECTION: &str = "./.";
        if !wants_layer(filter.recorded(false).as_bytes(), Layer::NVTX.number()) {
            return self;
        }
        let user_path = std::env::var_os(ENV_NVTX).filter(|path| !path.is_empty());
        if user_path.as_ref().is_some_and(|path| path == NO_INJECTION) {
            return self;
        }
        let is_foreign = |path: &OsString| Path::new(path).file_name() != Some(OsStr::new(PRELOAD));
        self.set.extend(user_path.filter(is_foreign).map(|path| (ENV_OTHER_NVTX, path)));
        self.set.push((ENV_NVTX, preload.as_os_str().to_owned()));
        self
    }

    /// The whole environment for exec: ours in place of what had the same name, then the changes of `-E`; others
    /// untouched.
    pub fn whole_environment(&self, changes: &[(OsString, Option<OsString>)]) -> Vec<OsString> {
        let mut remaining: Vec<_> = self.set.iter().collect();
        let mut all = Vec::new();
        let is_changed = |name: &OsStr| changes.iter().any(|(changed, _)| changed == name);
        for (name, value) in std::env::vars_os().filter(|(name, _)| !is_changed(name)) {
            match self.set.iter().any(|s| name == s.0) {
                false => all.push(line(&name, &value)),
                true => remaining.retain(|s| {
                    let here = name == s.0;
                    if here {
                        all.push(line(&name, &s.1));
                    }
                    !here
                }),
            }
        }
        all.extend(remaining.iter().filter(|s| !is_changed(OsStr::new(s.0))).map(|s| line(OsStr::new(s.0), &s.1)));
        for (n, (name, value)) in changes.iter().enumerate() {
            let is_last = changes.iter().skip(n + 1).all(|(later, _)| later != name);
            all.extend(value.as_ref().filter(|_| is_last).map(|value| line(name, value)));
        }
        all
    }

    /// `export A='...';` lines that survive both `eval "$(...)"` and a bare `eval $(...)`.
    pub fn exports(&self) -> Result<String> {
        let mut text = String::new();
        for (name, value) in &self.set {
            let Some(value) = value.to_str().filter(|v| survives_splitting(v)) else {
                return Err(Error::own(format!(
                    "{name} would be {value:?}, which eval $(cutap env) cannot carry (double blanks, tabs, line ends, \
                     * ? [ or bytes that are no text); use a folder with a plain path"
                )));
            };
            text += &format!("export {name}='{}';\n", value.replace('\'', r"'\''"));
        }
        Ok(text)
    }
}

fn line(name: &OsStr, value: &OsStr) -> OsString {
    OsString::from_vec([name.as_bytes(), b"=", value.as_bytes()].concat())
}

/// A bare `$(...)` is split at blanks, joined with single ones, and looked at for file patterns.
fn survives_splitting(value: &str) -> bool {
    !value.contains("  ")
        && !value.contains(['\n', '\t', '*', '?', '['])
        && !value.starts_with(' ')
        && !value.ends_with(' ')
}

/// Ours in front of what is there, sanitizers in front of ours: they refuse to run behind another library. And the
/// length of a runtime that was not there before.
fn preloads(ours: &Path, hooks: &[&OsStr], before: &OsStr, needed: Option<&str>) -> (OsString, Option<usize>) {
    let before = before.as_bytes().split(|b| b" :".contains(b)).filter(|p| !p.is_empty());
    let name = |p: &[u8]| String::from_utf8_lossy(p.rsplit(|&b| b == b'/').next().unwrap_or(p)).into_owned();
    let hooks = hooks.iter().map(|h| h.as_bytes());
    let is_foreign = |p: &&[u8]| name(p) != PRELOAD && hooks.clone().all(|h| h != *p);
    let foreign: Vec<&[u8]> = before.filter(is_foreign).collect();
    let (first, after): (Vec<&[u8]>, Vec<&[u8]>) = foreign.iter().partition(|p| sanitizer::is_runtime(p));
    let needed = needed.filter(|_| first.is_empty()).map(str::as_bytes);
    let all: Vec<&[u8]> =
        needed.into_iter().chain(first).chain([ours.as_os_str().as_bytes()]).chain(hooks).chain(after).collect();
    (OsString::from_vec(all.join(&b':')), needed.map(<[u8]>::len))
}

/// LD_PRELOAD is a list that spaces and colons separate, and the loader expands `$`.
pub fn can_be_preloaded(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    !bytes.iter().any(|b| b" :$".contains(b) || b.is_ascii_control()) && bytes.len() < 3000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(before: &str, sanitizer: Option<&str>) -> String {
        let (list, put) = preloads(Path::new("/c/libcutap_preload.so"), &[], OsStr::new(before), sanitizer);
        assert!(put.is_none_or(|bytes| sanitizer.map(str::len) == Some(bytes)));
        list.into_string().unwrap()
    }

    #[test]
    fn others_stay_behind_and_sanitizers_in_front() {
        assert_eq!(joined("", None), "/c/libcutap_preload.so");
        assert_eq!(joined("/a.so /b.so", None), "/c/libcutap_preload.so:/a.so:/b.so");
        assert_eq!(joined("/a.so:/usr/lib/libasan.so.8", None), "/usr/lib/libasan.so.8:/c/libcutap_preload.so:/a.so");
        assert_eq!(joined("", Some("libasan.so.8")), "libasan.so.8:/c/libcutap_preload.so");
        assert_eq!(joined("/x/libasan.so.8", Some("libasan.so.8")), "/x/libasan.so.8:/c/libcutap_preload.so");
        assert_eq!(joined("/old/libcutap_preload.so:/a.so", None), "/c/libcutap_preload.so:/a.so");
    }

    #[test]
    fn exports_refuse_what_eval_would_change() {
        let one = |v: &str| Variables { set: vec![("A", v.into())] }.exports();
        assert_eq!(one("/a b/it's").unwrap(), "export A='/a b/it'\\''s';\n");
        for bad in ["/a  b", "/a*", "/a\nb", " /a", "/a\tb", "/[a]"] {
            assert!(one(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn paths_that_the_loader_would_split() {
        assert!(can_be_preloaded(Path::new("/home/me/.cache/cutap")));
        for bad in ["/a b", "/a:b", "/$LIB/a", "/a\nb"] {
            assert!(!can_be_preloaded(Path::new(bad)), "{bad:?}");
        }
    }
}
