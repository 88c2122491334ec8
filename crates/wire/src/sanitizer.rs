//! The runtimes of sanitizers that must stand before cutap in `LD_PRELOAD`. AddressSanitizer ends a program in which
//! another library stands before its runtime. The others replace functions of libc, and must be the first to do so.
//!
//! A process that puts one there sets the variable [`ENV`]. The process that starts with this variable restores its
//! environment. Without that, each program that it starts would get the runtime too.

/// Environment variable: the length of the runtime's path in `LD_PRELOAD`, a blank, and the name of the process. No
/// name: that of its file.
pub const ENV: &str = "CUTAP_SANITIZER";

const RUNTIMES: [&str; 6] =
    ["libasan.", "libtsan.", "libhwasan.", "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan"];

/// True for the path of such a runtime.
pub fn is_runtime(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    RUNTIMES.iter().any(|runtime| name.starts_with(runtime.as_bytes()))
}

/// What [`ENV`] says: the bytes of the runtime, and the name of the process, which may be empty.
pub fn parse(value: &[u8]) -> Option<(usize, &[u8])> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, name) = value.split_at_checked(digits).filter(|(number, _)| matches!(number.len(), 1..=4))?;
    let length = number.iter().fold(0, |n, digit| n * 10 + usize::from(digit - b'0'));
    Some((length, name.strip_prefix(b" ").unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        for path in ["libasan.so.8", "/usr/lib/libtsan.so.2", "/c/libclang_rt.asan-x86_64.so", "libclang_rt.hwasan.so"]
        {
            assert!(is_runtime(path.as_bytes()), "{path}");
        }
        for path in ["libubsan.so.1", "/libasan.so/other.so", "liblsan.so.0", "", "/c/libcutap_preload.so"] {
            assert!(!is_runtime(path.as_bytes()), "{path}");
        }
        assert_eq!(parse(b"12 a b"), Some((12, &b"a b"[..])));
        assert_eq!(parse(b"7"), Some((7, &b""[..])));
        assert_eq!([parse(b""), parse(b" 7"), parse(b"99999 x")], [None, None, None]);
    }
}
