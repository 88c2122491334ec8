//! The pattern of `-o` and the file name that it becomes: each rank of a job writes to a file of its own.

use crate::base::error::{Error, Result};
use std::ffi::{CStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Puts in the id of this process for `%p`, the host's name for `%h`, an environment variable for `%q{NAME}`, and a
/// percent sign for `%%`.
pub fn expand(pattern: &Path) -> Result<PathBuf> {
    let refuse = |why: String| Err(Error::own(format!("cannot use -o {}: {why}", pattern.display())));
    let (mut name, mut rest) = (Vec::new(), pattern.as_os_str().as_bytes());
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            name.push(byte);
            continue;
        }
        match rest.first() {
            Some(b'%') => name.push(b'%'),
            Some(b'p') => name.extend(std::process::id().to_string().bytes()),
            Some(b'h') => name.extend(host()),
            Some(b'q') if rest.get(1) == Some(&b'{') && rest.contains(&b'}') => {
                let end = rest.iter().position(|b| *b == b'}').unwrap_or(2);
                let variable = OsString::from_vec(rest[2..end].to_vec());
                let variable_text = variable.display();
                let Some(value) = std::env::var_os(&variable).filter(|_| !variable.is_empty()) else {
                    return refuse(format!(
                        "the environment variable {variable_text} is not set; set it, or leave %q{{{variable_text}}} \
                        out"
                    ));
                };
                name.extend(value.as_bytes());
                rest = &rest[end..];
            }
            Some(b'q') => return refuse("%q lacks the name of an environment variable; write it as %q{NAME}".into()),
            other => {
                let text = match other {
                    Some(_) => String::from_utf8_lossy(rest).chars().next().unwrap_or_default().to_string(),
                    None => String::new(),
                };
                return refuse(format!(
                    "%{text} is not known; write %p for cutap's process id, %h for the host's name, %q{{NAME}} for an environment \
                     variable, or %% for a percent sign"
                ));
            }
        }
        rest = &rest[1..];
    }
    Ok(OsString::from_vec(name).into())
}

/// The host's name.
fn host() -> Vec<u8> {
    let mut name = [0; 256];
    // SAFETY: a buffer of cutap, whose last byte stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map(|name| name.to_bytes().to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_patterns() {
        let name = |pattern: &str| expand(Path::new(pattern)).map(|path| path.display().to_string());
        let host = String::from_utf8(host()).unwrap();
        assert_eq!(name("run.cutap").unwrap(), "run.cutap");
        assert_eq!(name("%h/100%%.%p").unwrap(), format!("{host}/100%.{}", std::process::id()));
        let path = std::env::var("PATH").unwrap();
        assert_eq!(name("a%q{PATH}b}").unwrap(), format!("a{path}b}}"));
        for bad in ["%", "a%x", "%q", "%qPATH}", "%q{PATH", "%q{}", "%q{NOT_SET_BY_ANYBODY}", "%ä"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
