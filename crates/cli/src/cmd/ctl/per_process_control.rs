//! Which page of switches is that of one process: the one that it has mapped, whatever number it has in its own
//! namespace. One that has none yet gets one made, which it finds by its number when it arms its first function; so do
//! the programs that it starts.

use cutap_collect::{Error, Page, Result, started};
use cutap_trace::{living, text_of_proc};
use std::fs::read_link;
use std::os::unix::fs::MetadataExt;

/// The pages to switch for a process, and its number as it sees itself.
pub fn pages(run: &Page, pid: u32) -> Result<(Vec<Page>, u32)> {
    let own =
        number(pid).ok_or_else(|| Error::own(format!("there is no process {pid}; give the number of the program")))?;
    // From here on a process that takes its page looks for one that is meant for it.
    run.some_alone();
    let mut pages = run.own_pages();
    if find(&pages, pid).is_empty() {
        // Older ones of this number are of another program that this one took the place of, or of nobody.
        pages = run.own_for(own, (namespace(pid), started(pid) as u32)).into_iter().collect();
        // One that looked between the two would not look again.
        run.some_alone();
        pages.extend(run.own_pages().into_iter().filter(|p| p.owner() == own && mapped(p, &maps(pid))));
    } else {
        let maps = maps(pid);
        pages.retain(|p| p.owner() == own && mapped(p, &maps));
    }
    match pages.is_empty() {
        false => Ok((pages, own)),
        true => Err(Error::own(format!(
            "cannot switch process {pid} alone: no page could be made for it in the run directory; use --all"
        ))),
    }
}

/// Those of these that a process has mapped as its own.
pub fn find(pages: &[Page], pid: u32) -> Vec<&Page> {
    let (maps, own) = (maps(pid), number(pid));
    pages.iter().filter(|p| Some(p.owner()) == own && mapped(p, &maps)).collect()
}

fn maps(pid: u32) -> String {
    living(pid).and_then(|folder| text_of_proc(folder.join("maps")).ok()).unwrap_or_default()
}

/// True when a line of the list names the page's file: by its number in the file system and its name, for paths differ
/// between namespaces.
fn mapped(page: &Page, maps: &str) -> bool {
    let Ok(data) = page.file().metadata() else { return false };
    let (inode, path) = (data.ino().to_string(), page.path());
    let name = path.file_name().and_then(|n| n.to_str());
    maps.lines().any(|line| {
        let mut words = line.split_ascii_whitespace().skip(4);
        words.next() == Some(&inode) && words.next().and_then(|path| path.rsplit('/').next()) == name
    })
}

/// The name space that this number is of, as the kernel numbers them; 0: not known.
fn namespace(pid: u32) -> u32 {
    let link = living(pid).and_then(|folder| read_link(folder.join("ns/pid")).ok());
    let link = link.map(|l| l.to_string_lossy().into_owned()).unwrap_or_default();
    link.trim_start_matches("pid:[").trim_end_matches(']').parse().unwrap_or(0)
}

/// The number of a process as it sees itself.
fn number(pid: u32) -> Option<u32> {
    let status = text_of_proc(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("NSpid:"));
    line.map_or(Some(pid), |l| l.split_whitespace().last()?.parse().ok())
}
