//! Packs a finished recording with Zstandard instead of LZ4. It writes a second file and renames it, so one whole file
//! exists at every moment.

use crate::base::error::{Error, Result, cannot, print_notice, reason};
use crate::output::output_file;
use crate::record::pack_progress::PackProgress;
use crate::record::without_end;
use cutap_file::{Block, Error as Unread, Packing, Why, Writer, body, copy, kind, pack, walk};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;

/// Blocks that a thread packs before they are written.
const AT_A_TIME: usize = 16;
/// Threads that pack.
const MOST_THREADS: usize = 4;
/// A shorter recording stays as it was written: packing it takes longer than reading it ever will.
const WORTH_PACKING: u64 = 128 << 10;
/// Fewer bytes are packed sooner than threads start.
const WORTH_THREADS: u64 = 8 << 20;

/// `cutap pack`: packs a recording that is not being written any more.
pub fn pack_file(path: &Path) -> Result<()> {
    match pack_at_rest(path, false) {
        Ok(()) => Ok(()),
        Err(PackError::Sentence(sentence) | PackError::Damaged(sentence)) => Err(Error::own(sentence)),
        Err(PackError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {
            Err(Error::own(format!("cannot pack {}: {}", path.display(), reason(&e))))
        }
        Err(PackError::Io(e)) => Err(cannot("pack", path, &e, "it is as it was")),
    }
}

/// The same at the end of a recording that was written to `output`, where failing is no loss: the file is good as it
/// is. False: it is not, for somebody else has written to it.
pub(crate) fn pack_recorded(path: &Path, output: &OwnedFd) -> bool {
    let path_text = path.display();
    if !is_the_same(path, output) {
        print_notice(&format!(
            "{path_text} is not the recording any more: that was moved, is whole, and can be packed with cutap pack"
        ));
        return true;
    }
    match pack_at_rest(path, true) {
        Ok(()) | Err(PackError::Sentence(_)) => {}
        Err(PackError::Io(e)) => {
            print_notice(&format!("{path_text} could not be packed more tightly: {}; it is whole", reason(&e)))
        }
        Err(PackError::Damaged(_)) => {
            print_notice(&format!(
                "{path_text} was changed by somebody else while it was written, and is damaged; cutap show \
                {path_text} gives what can be read"
            ));
            return false;
        }
    }
    true
}

/// The file of this name is the one that was written, and no other that somebody put there.
pub(crate) fn is_the_same(path: &Path, output: &OwnedFd) -> bool {
    let written = output.try_clone().and_then(|output| File::from(output).metadata());
    let (Ok(there), Ok(written)) = (fs::metadata(path), written) else { return false };
    (there.dev(), there.ino()) == (written.dev(), written.ino())
}

/// Why a file stays unchanged.
enum PackError {
    Sentence(String),
    /// The same, of one that cannot be read whole.
    Damaged(String),
    Io(io::Error),
}

impl From<io::Error> for PackError {
    fn from(error: io::Error) -> PackError {
        PackError::Io(error)
    }
}

/// `ours`: this process has locked it already.
fn pack_at_rest(path: &Path, ours: bool) -> std::result::Result<(), PackError> {
    let no = |why: &str| Err(PackError::Sentence(format!("cannot pack {}: {why}", path.display())));
    let bad = |why: &str| Err(PackError::Damaged(format!("cannot pack {}: {why}", path.display())));
    let path = fs::canonicalize(path)?;
    // Before it is opened, for a pipe waits for somebody who writes.
    if !fs::metadata(&path)?.is_file() {
        return no("it is not a file; give a recording that cutap record -o FILE made");
    }
    let file = File::open(&path)?;
    let data = file.metadata()?;
    if data.nlink() != 1 {
        return no("it has a second name (a hard link), which would keep the old file; copy it first");
    }
    // It would continue with a file that has no name any more.
    if !ours && !output_file::lock(&file) {
        return no("a collector is at work on it; pack it when that has ended");
    }
    let mut blocks: Vec<(Block, Vec<u8>)> = Vec::new();
    let cut = match walk(&file, cutap_wire::VERSION, &mut |block, plain| blocks.push((*block, plain.to_vec()))) {
        Ok(cut) => cut,
        Err(Unread::NotOurs) => return bad("it is not a recording of cutap"),
        Err(Unread::OtherVersion(version)) => {
            return no(&format!("another version of cutap wrote it (format {version}); pack it with that one"));
        }
        Err(Unread::Unreadable(e)) => return Err(e.into()),
    };
    if matches!(cut.why, Why::CutOff | Why::Damaged) {
        return bad("it is cut off or damaged, and packing would lose what cannot be read");
    }
    if cut.why == Why::Open && !ours {
        print_notice(&without_end(&path, cut.at));
    }
    drop_whole_parts(&mut blocks);
    let damaged = "a block in it is damaged, and packing would hide that; keep it as it is";
    let is_short = ours && data.len() < WORTH_PACKING;
    let is_packed = !blocks.iter().any(|(block, _)| block.packing == Packing::Lz4);
    if is_short || is_packed {
        let mut raw = Vec::new();
        // What was just written and packed need not be read once more.
        let good = ours && is_packed || blocks.iter().all(|(block, _)| body(&file, block, &mut raw).is_ok());
        return if good { Ok(()) } else { bad(damaged) };
    }
    let temporary = TemporaryFile::new(&path)?;
    let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary.0)?;
    to.set_permissions(fs::Permissions::from_mode(data.mode() & 0o7777))?;
    let mut writer = Writer::begin(BufWriter::with_capacity(1 << 20, to), cutap_wire::VERSION)?;
    let bytes: u64 = blocks.iter().map(|(block, _)| u64::from(block.raw)).sum();
    let threads = match bytes < WORTH_THREADS {
        true => 1,
        false => thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_THREADS),
    };
    let work = |part: &[(Block, Vec<u8>)]| part.iter().map(|block| repack(&file, block)).collect::<Vec<_>>();
    let mut progress = PackProgress::begin(&path, bytes);
    for some in blocks.chunks(threads * AT_A_TIME) {
        let packed = match threads {
            1 => vec![work(some)],
            _ => thread::scope(|scope| {
                let each = some.len().div_ceil(threads);
                let running: Vec<_> = some.chunks(each).map(|part| scope.spawn(|| work(part))).collect();
                running.into_iter().map(|t| t.join().unwrap_or_default()).collect()
            }),
        };
        let mut written = 0;
        for block in packed.into_iter().flatten() {
            match block {
                Err(e) if e.kind() == io::ErrorKind::InvalidData => return bad(damaged),
                block => writer.append(&block?)?,
            }
            written += 1;
        }
        if written != some.len() {
            return Err(io::Error::other("a thread that packs has ended").into());
        }
        progress.advance(some.iter().map(|(block, _)| u64::from(block.raw)).sum());
    }
    drop(progress);
    writer.out().flush()?;
    writer.out().get_ref().sync_data()?;
    // Somebody may have gone on writing to it.
    if fs::metadata(&path)?.len() != data.len() {
        return no("it is being written; wait for its end");
    }
    fs::rename(&temporary.0, &path)?;
    Ok(())
}

/// Leaves out parts of chunks that the file has whole.
fn drop_whole_parts(blocks: &mut Vec<(Block, Vec<u8>)>) {
    let mut whole = BTreeMap::<(u32, u32), u64>::new();
    for (block, _) in blocks.iter().filter(|(block, _)| block.kind == kind::CHUNK) {
        let number = whole.entry((block.process, block.ring)).or_default();
        *number = block.at.max(*number);
    }
    let is_whole = |block: &Block| whole.get(&(block.process, block.ring)).is_some_and(|number| block.at <= *number);
    blocks.retain(|(block, _)| block.kind != kind::PART || !is_whole(block));
}

/// The bytes of a block, packed again. Damage is an error of kind `InvalidData`.
fn repack(file: &File, (block, plain): &(Block, Vec<u8>)) -> io::Result<Vec<u8>> {
    let (mut raw, mut out) = (Vec::new(), Vec::new());
    body(file, block, &mut raw)?;
    if block.packing != Packing::Lz4 {
        copy(file, block, &mut out)?;
        return Ok(out);
    }
    pack(Packing::Zstd, *block, plain, &raw, &mut out)?;
    Ok(out)
}

/// A name beside the file, that goes if it was not put in the file's place.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(path: &Path) -> io::Result<TemporaryFile> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}", std::process::id()));
        Ok(TemporaryFile(path.with_file_name(beside)))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After the rename there is none of this name.
        let _ = fs::remove_file(&self.0);
    }
}
