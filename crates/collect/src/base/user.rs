//! The user that cutap runs as.

/// Its number.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
