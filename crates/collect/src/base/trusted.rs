//! Folders that only root and this user can exchange. A folder that others may replace, or one above it, would let
//! them choose which files cutap writes, and which library it puts into programs.
//!
//! The way is walked from the root part by part, through links too. A folder on the way belongs to
//! root or to this user. Others may write to it only if it is sticky, as /tmp is. What is entered
//! there must belong to root or to this user.
//!
//! Root's group counts as root. So does the group with the number of a user, which most
//! distributions make for that user alone. A folder with an access control list that lets others
//! write is theirs too.

use crate::base::error::reason;
use crate::base::user::own_uid;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{Metadata, read_link, symlink_metadata};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Links on a way at most.
const MOST_LINKS: u32 = 40;
const STICKY: u32 = 0o1000;
const GROUP_WRITE: u32 = 0o020;

/// What a folder is to be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderUse {
    /// Files are made in it, and no other user may add or remove one.
    Own,
    /// A private folder is made in it.
    Parent,
}

/// The folder that an absolute path leads to, without links; or why it cannot be used.
pub fn check(path: &Path, to: FolderUse) -> Result<PathBuf, String> {
    walk(path, to, own_uid(), &is_unmapped)
}

/// What was looked at cannot be exchanged afterwards by others, so no part has to be held open.
fn walk(path: &Path, to: FolderUse, us: u32, is_unmapped: &dyn Fn(u32) -> bool) -> Result<PathBuf, String> {
    let metadata_of = |at: &Path| symlink_metadata(at).map_err(|e| format!("{}: {}", at.display(), reason(&e)));
    let (mut parts, mut at, mut links) = (parts(path), PathBuf::from("/"), 0);
    loop {
        let here = metadata_of(&at)?;
        let (is_shared, is_sticky) = (is_shared(&at, &here, us), here.mode() & STICKY != 0);
        if ![0, us].contains(&here.uid()) && !is_unmapped(here.uid()) {
            return Err(format!("{} belongs to user {}, who can exchange what is in it", at.display(), here.uid()));
        }
        let may_be_shared = is_sticky && (to == FolderUse::Parent || !parts.is_empty());
        if is_shared && !may_be_shared {
            return Err(format!("others may write to {}", at.display()));
        }
        let Some(part) = parts.pop_front() else { return Ok(at) };
        if part == ".." {
            at.pop();
            continue;
        }
        let entry_path = at.join(part);
        let entry = metadata_of(&entry_path)?;
        // In a sticky folder only the owner of an entry can exchange it.
        if is_shared && ![0, us].contains(&entry.uid()) {
            return Err(format!("{} belongs to user {}", entry_path.display(), entry.uid()));
        }
        if entry.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(format!("too many links lead to {}", path.display()));
            }
            let target = read_link(&entry_path).map_err(|e| format!("{}: {}", entry_path.display(), reason(&e)))?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            self::parts(&target).into_iter().rev().for_each(|part| parts.push_front(part));
        } else if entry.is_dir() {
            at = entry_path;
        } else {
            return Err(format!("{} is no folder", entry_path.display()));
        }
    }
}

/// The parts of a path behind the root.
fn parts(path: &Path) -> VecDeque<OsString> {
    let named = |part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

/// Others than root and we may write to it.
fn is_shared(path: &Path, data: &Metadata, us: u32) -> bool {
    // With an access control list, the bit of the group is what any user in the list may have at most.
    let listed = || data.mode() & GROUP_WRITE != 0 && has_access_list(path);
    may_others_write((data.mode(), data.uid(), data.gid()), us) || listed()
}

/// Whether a folder has an access control list beside its mode.
fn has_access_list(path: &Path) -> bool {
    let mut list = [0_u8; 1024];
    match rustix::fs::lgetxattr(path, c"system.posix_acl_access", &mut list) {
        Ok(bytes) => bytes > 0,
        Err(e) => e == rustix::io::Errno::RANGE,
    }
}

/// The same by mode, owner and group.
fn may_others_write((mode, owner, group): (u32, u32, u32), us: u32) -> bool {
    let of_one = group == 0 || us != 0 && owner == us && group == us;
    mode & 0o002 != 0 || mode & GROUP_WRITE != 0 && !of_one
}

/// In a user namespace that does not know all users, the owners of most folders, root among them, have this number.
fn is_unmapped(uid: u32) -> bool {
    let number = std::fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    let overflow: u32 = number.trim().parse().unwrap_or(65_534);
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    uid == overflow && !map.is_empty() && !map.lines().any(|line| maps(line, uid))
}

/// Whether a line of uid_map has this number inside.
fn maps(line: &str, uid: u32) -> bool {
    let numbers: Vec<u64> = line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    matches!(numbers[..], [first, _, count] if (first..first.saturating_add(count)).contains(&u64::from(uid)))
}

/// Sixteen random digits: a name that others cannot make before.
pub fn random_name() -> String {
    // The keys of a hasher come from the system's random numbers.
    format!("{:016x}", RandomState::new().hash_one(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir_all, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path, mode: u32) {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Why the folder of a user cannot be used; none if it can.
    fn why(path: &Path, to: FolderUse) -> Option<String> {
        check(path, to).err()
    }

    #[test]
    fn folders_that_others_can_exchange_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(folder.path()).unwrap();
        let (open, inner) = (base.join("open"), base.join("open/inner"));
        create_dir_all(&inner).unwrap();
        assert_eq!([why(&inner, FolderUse::Own), why(&inner, FolderUse::Parent)], [None, None]);
        mode(&open, 0o777);
        assert_eq!(why(&inner, FolderUse::Own), Some(format!("others may write to {}", open.display())));
        mode(&open, 0o1777);
        assert_eq!([why(&inner, FolderUse::Own), why(&open, FolderUse::Parent)], [None, None], "as in /tmp");
        assert!(why(&open, FolderUse::Own).is_some(), "others may add files there");
        mode(&open, 0o755);
        mode(&inner, 0o777);
        assert!(why(&inner, FolderUse::Own).is_some() && why(&inner, FolderUse::Parent).is_some());
        mode(&inner, 0o755);
        // Links: by way of a folder that others may write to, and in a sticky one.
        symlink(&inner, base.join("link")).unwrap();
        assert_eq!(why(&base.join("link/../inner"), FolderUse::Own), None);
        create_dir_all(base.join("shared")).unwrap();
        symlink("../open/inner", base.join("shared/link")).unwrap();
        assert_eq!(why(&base.join("shared/link"), FolderUse::Own), None);
        mode(&base.join("shared"), 0o777);
        assert!(why(&base.join("shared/link"), FolderUse::Own).is_some());
        symlink("shared/link", base.join("chain")).unwrap();
        assert!(why(&base.join("chain"), FolderUse::Own).is_some(), "the way of a link counts");
        symlink("loop", base.join("loop")).unwrap();
        assert!(why(&base.join("loop"), FolderUse::Own).unwrap().contains("too many links"));
        assert!(why(&base.join("none/run"), FolderUse::Own).unwrap().contains("no such file"));
        std::fs::write(base.join("file"), "").unwrap();
        assert!(why(&base.join("file"), FolderUse::Own).unwrap().contains("is no folder"));
    }

    #[test]
    fn folders_of_another_user_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(folder.path()).unwrap();
        let (theirs, inner) = (base.join("theirs"), base.join("theirs/inner"));
        create_dir_all(&inner).unwrap();
        if let Err(e) = chown(&theirs, Some(65_533), None) {
            return eprintln!("skipped: no folder can be given to another user ({e})");
        }
        let said = why(&inner, FolderUse::Own).unwrap();
        assert_eq!(said, format!("{} belongs to user 65533, who can exchange what is in it", theirs.display()));
        // For that user it is the own folder, and root's are good for all.
        assert!(walk(&theirs, FolderUse::Own, 65_533, &|_| false).is_ok());
        // In a sticky folder an entry of another user may be anything.
        mode(&base, 0o1777);
        assert!(why(&theirs, FolderUse::Own).is_some());
        symlink(&inner, base.join("link")).unwrap();
        std::os::unix::fs::lchown(base.join("link"), Some(65_533), None).unwrap();
        assert!(why(&base.join("link"), FolderUse::Own).unwrap().contains("belongs to user 65533"));
        // Where a namespace knows few users, the owner of / may have no number.
        assert!(walk(&inner, FolderUse::Own, own_uid(), &|uid| uid == 65_533).is_err(), "an entry in a sticky folder");
        mode(&base, 0o755);
        assert!(walk(&inner, FolderUse::Own, own_uid(), &|uid| uid == 65_533).is_ok());
    }

    #[test]
    fn a_group_of_one_user_is_no_others() {
        let shared = |mode, owner, group, us| may_others_write((mode, owner, group), us);
        assert!(!shared(0o775, 1000, 1000, 1000) && shared(0o775, 1000, 100, 1000));
        assert!(shared(0o777, 1000, 1000, 1000) && shared(0o775, 1000, 1000, 0));
        assert!(!shared(0o775, 0, 0, 1000) && !shared(0o755, 0, 5, 1000));
        assert!(maps("0 100000 65536", 65_534) && !maps("0 1000 1", 65_534) && maps("0 0 4294967295", 65_534));
    }

    /// `setfacl -m u:65534:rwx` on a folder of ours: its mode says that only our group may write.
    #[test]
    fn users_in_an_access_list_are_others() {
        let folder = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(folder.path()).unwrap();
        mode(&base, 0o775);
        assert_eq!(why(&base, FolderUse::Own), None);
        let entry = |tag: u16, rights: u16, id: u32| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let all = [(1, 7, u32::MAX), (2, 7, 65_534), (4, 5, u32::MAX), (0x10, 7, u32::MAX), (0x20, 5, u32::MAX)];
        let list = [vec![2, 0, 0, 0], all.map(|(tag, rights, id)| entry(tag, rights, id)).concat()].concat();
        let none = rustix::fs::XattrFlags::empty();
        if let Err(e) = rustix::fs::setxattr(&base, c"system.posix_acl_access", &list, none) {
            return eprintln!("skipped: no access control list can be set ({e})");
        }
        assert_eq!(why(&base, FolderUse::Own), Some(format!("others may write to {}", base.display())));
        assert!(why(&base, FolderUse::Parent).is_some());
        // The mask takes the right away.
        mode(&base, 0o755);
        assert_eq!(why(&base, FolderUse::Own), None);
    }

    #[test]
    fn names_differ() {
        let (one, two) = (random_name(), random_name());
        assert!(one != two && one.len() == 16, "{one} {two}");
    }
}
