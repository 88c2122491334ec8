//! The system calls that cutap makes, each with arguments as it passes them: a filter may look at those. A call that is
//! missing here cannot be made: its number is not in `arch::numbers`.

pub(super) use super::arch::numbers as nr;

/// A system call that is used.
pub struct Used {
    pub number: usize,
    pub name: &'static [u8],
    /// Arguments that it is made with.
    pub arguments: &'static [[u64; 6]],
}

macro_rules! used {
    ($($name:ident, $text:literal $(, $arguments:tt)*;)*) => {
        /// The number by which the frame of vfork blocks signals.
        pub const MASK: usize = nr::RT_SIGPROCMASK;
        /// All of them.
        pub static USED: &[Used] =
            &[$(Used { number: nr::$name, name: $text, arguments: &[$(padded(&$arguments)),*] }),*];
    };
}

/// Arguments with zeros behind them.
const fn padded(arguments: &[u64]) -> [u64; 6] {
    match *arguments {
        [a] => [a, 0, 0, 0, 0, 0],
        [a, b] => [a, b, 0, 0, 0, 0],
        [a, b, c] => [a, b, c, 0, 0, 0],
        [a, b, c, d] => [a, b, c, d, 0, 0],
        [a, b, c, d, e] => [a, b, c, d, e, 0],
        [a, b, c, d, e, f, ..] => [a, b, c, d, e, f],
        [] => [0; 6],
    }
}

/// An address, a length and a descriptor like those that are passed.
const AT: u64 = 0x7f00_0000_0000;
const LEN: u64 = 65536;
const FILE: u64 = 1000;
const HERE: u64 = -100i64 as u64;
const NONE: u64 = u64::MAX;

/// A filter is asked about these lengths too, in the place of `LEN`, and about descriptors in the place of `FILE`.
const PAGE: u64 = 4096;
const LENGTHS: [u64; 16] = [
    PAGE,
    2 * PAGE,
    3 * PAGE,
    4 * PAGE,
    5 * PAGE,
    6 * PAGE,
    7 * PAGE,
    8 * PAGE,
    12 * PAGE,
    24 * PAGE,
    32 * PAGE,
    64 * PAGE,
    256 * PAGE,
    512 * PAGE,
    1024 * PAGE,
    2048 * PAGE,
];
const FIRST_FILE: u64 = 3;

/// The same arguments with others of these.
pub fn other_arguments(arguments: &[u64; 6]) -> impl Iterator<Item = [u64; 6]> {
    LENGTHS.into_iter().zip(FIRST_FILE..).map(|(length, file)| {
        arguments.map(|argument| match argument {
            LEN => length,
            FILE => file,
            argument => argument,
        })
    })
}

used! {
    READ, b"read", [FILE, AT, LEN];
    WRITE, b"write", [FILE, AT, LEN];
    CLOSE, b"close", [FILE];
    // Of a file, over a mapping, closed, and memory of no file.
    MMAP, b"mmap", [0, LEN, 3, 1, FILE, LEN], [AT, LEN, 3, 0x11, FILE, LEN], [0, LEN, 0, 1, FILE, 0],
        [AT, LEN, 3, 0x8011, FILE, LEN], [0, LEN, 3, 0x4022, NONE, 0], [0, LEN, 1, 0x4022, NONE, 0];
    MPROTECT, b"mprotect", [AT, LEN, 3], [AT, LEN, 1];
    MUNMAP, b"munmap", [AT, LEN];
    RT_SIGPROCMASK, b"rt_sigprocmask", [0, AT, AT, 8], [2, AT, 0, 8], [NONE, AT, 0, 8];
    SCHED_YIELD, b"sched_yield", [0];
    MREMAP, b"mremap", [AT, LEN, LEN, 3, AT];
    MINCORE, b"mincore", [AT, 1, AT];
    MADVISE, b"madvise", [AT, LEN, 23], [AT, LEN, 18];
    NANOSLEEP, b"nanosleep", [AT, 0];
    GETPID, b"getpid", [0];
    // Before the program has begun: its filters do not matter.
    EXECVE, b"execve";
    FCNTL, b"fcntl", [FILE, 1030, FILE];
    MKDIR, b"mkdir", [AT, 0o700];
    UNLINK, b"unlink", [AT];
    SYMLINK, b"symlink", [AT, AT];
    READLINK, b"readlink", [AT, AT, LEN];
    CHMOD, b"chmod", [AT, 0o600];
    GETPPID, b"getppid", [0];
    SIGALTSTACK, b"sigaltstack", [0, AT];
    FSTATFS, b"fstatfs", [FILE, AT];
    PRCTL, b"prctl", [16, AT];
    GETTID, b"gettid", [0];
    FUTEX, b"futex", [AT, 0x86], [AT, 0x87];
    CLOCK_GETTIME, b"clock_gettime", [1, AT], [0, AT];
    TGKILL, b"tgkill", [FILE, FILE, 0];
    OPENAT, b"openat", [HERE, AT, 0o2002002, 0o600], [HERE, AT, 0o2000302, 0o600], [HERE, AT, 0o2000000, 0o600];
    NEWFSTATAT, b"newfstatat", [HERE, AT, AT, 0], [FILE, AT, AT, 0x1000];
    SET_ROBUST_LIST, b"set_robust_list", [AT, 24];
    GET_ROBUST_LIST, b"get_robust_list", [0, AT, AT];
    FALLOCATE, b"fallocate", [FILE, 0, LEN, LEN];
    PRLIMIT64, b"prlimit64", [0, 1, 0, AT];
    PROCESS_VM_READV, b"process_vm_readv", [FILE, AT, 1, AT, 2, 0];
    PROCESS_VM_WRITEV, b"process_vm_writev", [FILE, AT, 1, AT, 1, 0];
}
