//! Messages of a collector that stays for processes that outlive the program, and the descriptors that it closes then
//! so that no reader waits for it.
//!
//! Limits: a process is found by `CUTAP_RUN` in its environment, by the run directory in its memory, or by a lease
//! of its page. The file systems overlayfs and NFS have no leases: a process that hides from `/proc` is not found
//! there.

use crate::base::error::print_notice;
use crate::collector::foreground_channel::ForegroundChannel;

/// Processes of the run live on: a recording continues until the last of them has ended.
pub fn detach_for_calls(channel: &mut ForegroundChannel, names: &[String]) {
    let (verb, possessive, end) =
        if names.len() == 1 { ("runs", "its", "it ends") } else { ("run", "their", "they end") };
    let (names, ours) = (names.join(", "), std::process::id());
    print_notice(&format!(
        "{names} still {verb}; {possessive} calls are added to the recording until {end} (by process {ours})"
    ));
    channel.announce_detached();
    discard_descriptors(&[2]);
}

/// Processes of the run live on, and a hook library that they have yet to meet stands in the run directory.
pub fn detach_for_hooks(channel: &mut ForegroundChannel, names: &[String]) {
    let (verb, them, end) = if names.len() == 1 { ("runs", "it", "it ends") } else { ("run", "them", "they end") };
    let (names, ours) = (names.join(", "), std::process::id());
    print_notice(&format!("{names} still {verb}; the hooks act in {them} until {end} (process {ours} waits for that)"));
    channel.announce_detached();
    discard_descriptors(&[1, 2]);
}

/// Nobody who reads these to their end is to wait for us.
fn discard_descriptors(descriptors: &[i32]) {
    // SAFETY: replaces our own descriptors.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        for descriptor in descriptors {
            libc::dup2(null, *descriptor);
        }
        libc::close(null);
    }
}
