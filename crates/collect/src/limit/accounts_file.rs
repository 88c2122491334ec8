//! The file in which the processes of a run, or of several runs, count what they have.

use crate::base::error::{Error, Result, reason};
use crate::base::trusted::{self, FolderUse, random_name};
use crate::base::user::own_uid;
use cutap_wire::accounts::{BYTES, FILE, MAGIC, VERSION};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The path of the accounts: in the run directory, or in the folder that several runs share.
pub fn accounts(shared: Option<&Path>, run: &Path) -> Result<PathBuf> {
    let Some(folder) = shared else {
        let path = run.join(FILE);
        create(&path).map_err(|e| refused(&path, &reason(&e), "choose another folder with --run-dir DIR"))?;
        return Ok(path);
    };
    let advice = "give a folder of your own with --accounts DIR";
    let folder = std::path::absolute(folder).map_err(|e| refused(folder, &reason(&e), advice))?;
    let folder = trusted::check(&folder, FolderUse::Own).map_err(|why| refused(&folder, &why, advice))?;
    let path = folder.join(FILE);
    // It appears whole by a link, so that another run that starts now finds it whole, or makes its own in vain.
    let temporary = folder.join(format!(".{FILE}-{}", random_name()));
    if std::fs::symlink_metadata(&path).is_err() {
        let linked = create(&temporary).and_then(|()| std::fs::hard_link(&temporary, &path));
        let _ = std::fs::remove_file(&temporary);
        if let Err(e) = linked.or_else(|e| if e.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(e) }) {
            return Err(refused(&path, &reason(&e), advice));
        }
    }
    match problem(&path) {
        None => Ok(path),
        Some(why) => Err(refused(&path, &why, advice)),
    }
}

fn refused(path: &Path, why: &str, advice: &str) -> Error {
    Error::own(format!("cannot count memory in {}: {why}; {advice}", path.display()))
}

/// An empty file with its head.
fn create(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // Written whole, so that the room is there: a program that writes to a page without room dies.
    let mut bytes = [MAGIC.to_ne_bytes(), VERSION.to_ne_bytes()].concat();
    bytes.resize(BYTES, 0);
    file.write_all_at(&bytes, 0)
}

/// Why a file that is there cannot be used.
fn problem(path: &Path) -> Option<String> {
    let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let looked_at = open.and_then(|file| Ok((file.metadata()?, file)));
    match looked_at {
        Err(e) => Some(reason(&e)),
        Ok((data, file)) => wrong_owner(&data).or_else(|| wrong_content(&data, &file)),
    }
}

fn wrong_owner(data: &Metadata) -> Option<String> {
    if !data.is_file() {
        return Some("it is no file".into());
    }
    if data.uid() != own_uid() {
        return Some(format!("it belongs to user {}", data.uid()));
    }
    (data.mode() & 0o022 != 0).then(|| "others may write to it".into())
}

fn wrong_content(data: &Metadata, file: &File) -> Option<String> {
    let mut head = [0_u8; 16];
    if file.read_exact_at(&mut head, 0).is_err() || !head.starts_with(&MAGIC.to_ne_bytes()) {
        return Some("it is no file of accounts".into());
    }
    let is_this_version = head.ends_with(&VERSION.to_ne_bytes()) && data.len() == BYTES as u64;
    (!is_this_version).then(|| "it is of another version of cutap".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn files_that_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, run) = (folder.path(), Path::new("/none"));
        let path = accounts(Some(dir), run).unwrap();
        assert_eq!(accounts(Some(dir), run).unwrap(), path, "it is used again");
        let why = || accounts(Some(dir), run).map(drop).map_err(|e| e.to_string()).unwrap_err();
        set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert!(why().contains("others may write to it; give a folder of your own"), "{}", why());
        std::fs::remove_file(&path).unwrap();
        write(&path, "text").unwrap();
        assert!(why().contains("no file of accounts"), "{}", why());
        write(&path, [MAGIC.to_ne_bytes(), 99_u64.to_ne_bytes()].concat()).unwrap();
        assert!(why().contains("another version"), "{}", why());
        std::fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert!(why().contains("cannot count memory in"), "{}", why());
        std::fs::remove_file(&path).unwrap();
        set_permissions(dir, Permissions::from_mode(0o777)).unwrap();
        assert!(why().contains("others may write to"), "{}", why());
    }
}
