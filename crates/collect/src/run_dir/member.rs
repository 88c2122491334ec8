//! Whether a process is one of a run. An environment is no proof: another user could keep a recording open, or
//! have `cutap ctl` change it. A process of a run has its page mapped, or its user may write to the run directory.

use cutap_trace::{RunPath, text_of_proc};
use cutap_wire::control::ALIVE;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who may be a process of a run.
#[derive(Debug)]
pub struct Members {
    /// Owner, group and mode of the run directory.
    folder: Option<(u32, u32, u32)>,
    /// Device and number of the page that each process of the run maps.
    page: Option<(u64, u64)>,
}

impl Members {
    pub fn of(run: &RunPath) -> Members {
        let folder = run.metadata().ok();
        let page = run.join(ALIVE).open_file(false).and_then(|page| page.metadata());
        Members {
            folder: folder.map(|folder| (folder.uid(), folder.gid(), folder.mode())),
            page: page.ok().map(|page| (page.dev(), page.ino())),
        }
    }

    /// Whether process `pid`, of which `proc` tells, may write to the run, or has its page.
    pub fn is_or_may_be(&self, pid: u32, proc: &Path) -> bool {
        let status = text_of_proc(proc.join("status")).or_else(|_| text_of_proc(format!("/proc/{pid}/status")));
        let Ok(status) = status else { return false };
        self.may_write(&status) || std::fs::read(proc.join("maps")).is_ok_and(|maps| self.has_page(&maps))
    }

    /// Whether the user of a process may write to the run, by its status.
    fn may_write(&self, status: &str) -> bool {
        let numbers = |name: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
        };
        let Some((owner, group, mode)) = self.folder else { return false };
        let in_group = || numbers("Gid:").contains(&group) || numbers("Groups:").contains(&group);
        numbers("Uid:").iter().any(|uid| *uid == 0 || *uid == owner)
            || mode & 0o002 != 0
            || mode & 0o020 != 0 && in_group()
    }

    /// Whether the page is among what a process has mapped. Only who may open it can have it there.
    fn has_page(&self, maps: &[u8]) -> bool {
        let Some((device, inode)) = self.page else { return false };
        let device = format!("{:02x}:{:02x}", libc::major(device), libc::minor(device));
        let inode = inode.to_string();
        maps.split(|b| *b == b'\n').any(|line| {
            let mut words = line.split(|b| *b == b' ').filter(|word| !word.is_empty()).skip(3);
            words.next() == Some(device.as_bytes()) && words.next() == Some(inode.as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_write() {
        let status = |uids: &str, groups: &str| format!("Name:\tx\nUid:\t{uids}\nGid:\t7 7 7 7\nGroups:\t{groups}\n");
        let of = |mode| Members { folder: Some((1000, 100, mode)), page: Some((0xfd01, 77)) };
        let may = |mode, uids: &str, groups: &str| of(mode).may_write(&status(uids, groups));
        assert!(may(0o700, "1000 1000 1000 1000", "") && may(0o700, "0 0 0 0", "") && may(0o700, "0 9 9 9", ""));
        assert!(!may(0o700, "9 9 9 9", "100") && !may(0o755, "9 9 9 9", "100"));
        assert!(may(0o770, "9 9 9 9", "5 100") && !may(0o770, "9 9 9 9", "5") && may(0o777, "9 9 9 9", ""));
        let maps = b"7f00-7f01 ---s 00000000 fd:01 77                 /elsewhere/alive\n";
        assert!(of(0o700).has_page(maps));
        assert!(!of(0o700).has_page(b"7f00-7f01 ---s 00000000 fd:01 78 /tmp/run/alive\n7f r 0 fd:02 77 x\n\n"));
    }
}
