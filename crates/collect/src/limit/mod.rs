//! `--limit-memory` and `--gpus`: what the user wrote, and the rules by which the hook library in the target counts
//! memory. The accounts that processes share are here too, and the lines at the end.

mod accounts_file;
mod end_lines;
mod gpus;
mod interface;
mod limit_file;
mod memory_limit;

pub use accounts_file::accounts;
pub use end_lines::end_lines;
pub use gpus::Gpus;
pub use limit_file::file_bytes;
pub use memory_limit::MemoryLimit;

use crate::base::error::{Error, Result};
use cutap_wire::hooks::SELECTORS;

/// Refuses rules of `--inject` for which no place is left beside those of a limit.
pub fn check_room(injected: usize) -> Result<()> {
    let room = SELECTORS.saturating_sub(interface::rules().count());
    if injected > room {
        return Err(Error::own(format!(
            "--inject names {injected} functions, and beside --limit-memory {room} fit; use patterns, as cudaMemcpy*"
        )));
    }
    Ok(())
}
