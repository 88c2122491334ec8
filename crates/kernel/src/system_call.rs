//! System calls of this layer: by number and by the name of a function of the C library, and what their words say.

use crate::call::Action;

/// A system call of this layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemCall {
    /// Its argument is in memory.
    Ioctl,
    /// Its path is in memory.
    Open(OpenWords),
    /// Its words say all.
    File(FileCall),
}

/// Which words of an open have what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWords {
    /// The address of the path.
    pub path: usize,
    /// The flags.
    pub flags: OpenFlags,
}

/// Where the flags of an open are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFlags {
    /// In this word.
    Word(usize),
    /// At the address in this word.
    Behind(usize),
    /// Nowhere: creat.
    None,
}

/// A system call whose memory need not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCall {
    /// close
    Close,
    /// dup, dup2, dup3, and fcntl with a command that duplicates.
    Dup,
    /// mmap
    Mmap,
    /// munmap
    Munmap,
}

const OPEN: SystemCall = SystemCall::Open(OpenWords { path: 0, flags: OpenFlags::Word(1) });
const OPENAT: SystemCall = SystemCall::Open(OpenWords { path: 1, flags: OpenFlags::Word(2) });
const OPENAT2: SystemCall = SystemCall::Open(OpenWords { path: 1, flags: OpenFlags::Behind(2) });
const CREAT: SystemCall = SystemCall::Open(OpenWords { path: 0, flags: OpenFlags::None });

impl SystemCall {
    /// The one that a function of the C library makes.
    #[must_use]
    pub fn of_function(name: &str) -> Option<SystemCall> {
        Some(match name {
            "ioctl" => SystemCall::Ioctl,
            "open" | "open64" | "__open_2" | "__open64_2" => OPEN,
            "openat" | "openat64" => OPENAT,
            "creat" | "creat64" => CREAT,
            "close" => SystemCall::File(FileCall::Close),
            "dup" | "dup2" | "dup3" => SystemCall::File(FileCall::Dup),
            "mmap" | "mmap64" => SystemCall::File(FileCall::Mmap),
            "munmap" => SystemCall::File(FileCall::Munmap),
            _ => return None,
        })
    }

    /// The one with this number; fcntl by its command. None of a mapping without a file.
    pub(crate) fn of_number(number: i64, words: [u64; 6]) -> Option<SystemCall> {
        let [_, command, _, flags, ..] = words;
        let duplicates = || i32::try_from(command).is_ok_and(|c| [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&c));
        let is_anonymous = flags & u64::from(libc::MAP_ANONYMOUS.cast_unsigned()) != 0;
        Some(match number {
            libc::SYS_ioctl => SystemCall::Ioctl,
            libc::SYS_open => OPEN,
            libc::SYS_openat => OPENAT,
            libc::SYS_openat2 => OPENAT2,
            libc::SYS_creat => CREAT,
            libc::SYS_close => SystemCall::File(FileCall::Close),
            libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => SystemCall::File(FileCall::Dup),
            libc::SYS_fcntl if duplicates() => SystemCall::File(FileCall::Dup),
            libc::SYS_mmap if !is_anonymous => SystemCall::File(FileCall::Mmap),
            libc::SYS_munmap => SystemCall::File(FileCall::Munmap),
            _ => return None,
        })
    }
}

impl FileCall {
    /// The descriptor that it is about.
    #[must_use]
    pub fn descriptor(self, words: [u64; 6]) -> Option<i32> {
        let [first, .., fifth, _] = words;
        match self {
            FileCall::Close | FileCall::Dup => Some(descriptor(first)),
            FileCall::Mmap => Some(descriptor(fifth)),
            FileCall::Munmap => None,
        }
    }

    /// What it does; `path` is the file of its descriptor.
    #[must_use]
    pub fn action(self, words: [u64; 6], path: String) -> Action {
        let [address, length, protection, flags, _, offset] = words;
        let fd = self.descriptor(words).unwrap_or(-1);
        match self {
            FileCall::Close => Action::Close { fd, path },
            FileCall::Dup => Action::Dup { fd, path },
            FileCall::Mmap => {
                let (protection, flags) = (lower_half(protection), lower_half(flags));
                Action::Mmap { fd, path, address, length, protection, flags, offset }
            }
            FileCall::Munmap => Action::Munmap { address, length },
        }
    }
}

/// The kernel takes the lower half of a descriptor's word.
pub(crate) fn descriptor(word: u64) -> i32 {
    lower_half(word).cast_signed()
}

fn lower_half(word: u64) -> u32 {
    u32::try_from(word & 0xffff_ffff).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By its number and by its name a call is the same action.
    #[test]
    fn names_and_numbers_agree() {
        let words = [0xffff_ffff_0000_0007, 4096, 3, 1, 9, 8192];
        for (number, name) in [
            (libc::SYS_ioctl, "ioctl"),
            (libc::SYS_open, "open64"),
            (libc::SYS_openat, "openat"),
            (libc::SYS_creat, "creat"),
            (libc::SYS_close, "close"),
            (libc::SYS_dup, "dup"),
            (libc::SYS_dup2, "dup2"),
            (libc::SYS_dup3, "dup3"),
            (libc::SYS_mmap, "mmap64"),
            (libc::SYS_munmap, "munmap"),
        ] {
            assert_eq!(SystemCall::of_number(number, words), SystemCall::of_function(name), "{name}");
        }
        let close = FileCall::Close.action(words, "/dev/nvidia0".into());
        assert_eq!(close, Action::Close { fd: 7, path: "/dev/nvidia0".into() });
        let map = FileCall::Mmap.action(words, String::new());
        assert!(
            matches!(map, Action::Mmap { fd: 9, length: 4096, protection: 3, flags: 1, offset: 8192, .. }),
            "{map:?}"
        );
    }

    #[test]
    fn what_concerns_no_file_is_none() {
        let anonymous = u64::from(libc::MAP_ANONYMOUS.cast_unsigned());
        assert_eq!(SystemCall::of_number(libc::SYS_mmap, [0, 4096, 3, anonymous, 0, 0]), None);
        assert_eq!(SystemCall::of_number(libc::SYS_fcntl, [7, 3, 0, 0, 0, 0]), None);
        let duplicates = [7, u64::try_from(libc::F_DUPFD_CLOEXEC).unwrap(), 0, 0, 0, 0];
        assert_eq!(SystemCall::of_number(libc::SYS_fcntl, duplicates), Some(SystemCall::File(FileCall::Dup)));
    }
}
