//! The actions that follow from a system call's words and the file of its descriptor alone.

use crate::call::Action;

/// A system call whose memory need not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemCall {
    /// close
    Close,
    /// dup, dup2, dup3, and fcntl with a command that duplicates.
    Dup,
    /// mmap
    Mmap,
    /// munmap
    Munmap,
}

impl SystemCall {
    /// The one that a function of the C library makes.
    #[must_use]
    pub fn of_function(name: &str) -> Option<SystemCall> {
        Some(match name {
            "close" => SystemCall::Close,
            "dup" | "dup2" | "dup3" => SystemCall::Dup,
            "mmap" | "mmap64" => SystemCall::Mmap,
            "munmap" => SystemCall::Munmap,
            _ => return None,
        })
    }

    /// The one with this number; fcntl by its command. None of a mapping without a file.
    pub(crate) fn of_number(number: i64, words: [u64; 6]) -> Option<SystemCall> {
        let [_, command, _, flags, ..] = words;
        let duplicates = || i32::try_from(command).is_ok_and(|c| [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&c));
        Some(match number {
            libc::SYS_close => SystemCall::Close,
            libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => SystemCall::Dup,
            libc::SYS_fcntl if duplicates() => SystemCall::Dup,
            libc::SYS_mmap if flags & u64::from(libc::MAP_ANONYMOUS.cast_unsigned()) == 0 => SystemCall::Mmap,
            libc::SYS_munmap => SystemCall::Munmap,
            _ => return None,
        })
    }

    /// The descriptor that it is about.
    #[must_use]
    pub fn descriptor(self, words: [u64; 6]) -> Option<i32> {
        let [first, .., fifth, _] = words;
        match self {
            SystemCall::Close | SystemCall::Dup => Some(descriptor(first)),
            SystemCall::Mmap => Some(descriptor(fifth)),
            SystemCall::Munmap => None,
        }
    }

    /// What it does; `path` is the file of its descriptor.
    #[must_use]
    pub fn action(self, words: [u64; 6], path: String) -> Action {
        let [address, length, protection, flags, _, offset] = words;
        let fd = self.descriptor(words).unwrap_or(-1);
        match self {
            SystemCall::Close => Action::Close { fd, path },
            SystemCall::Dup => Action::Dup { fd, path },
            SystemCall::Mmap => {
                let (protection, flags) = (lower_half(protection), lower_half(flags));
                Action::Mmap { fd, path, address, length, protection, flags, offset }
            }
            SystemCall::Munmap => Action::Munmap { address, length },
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
            (libc::SYS_close, "close"),
            (libc::SYS_dup, "dup"),
            (libc::SYS_dup2, "dup2"),
            (libc::SYS_dup3, "dup3"),
            (libc::SYS_mmap, "mmap64"),
            (libc::SYS_munmap, "munmap"),
        ] {
            assert_eq!(SystemCall::of_number(number, words), SystemCall::of_function(name), "{name}");
        }
        let close = SystemCall::Close.action(words, "/dev/nvidia0".into());
        assert_eq!(close, Action::Close { fd: 7, path: "/dev/nvidia0".into() });
        let map = SystemCall::Mmap.action(words, String::new());
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
        assert_eq!(SystemCall::of_number(libc::SYS_fcntl, duplicates), Some(SystemCall::Dup));
    }
}
