//! `cutap hook-header`: prints the header with which a hook library is written in C.

use crate::embedded::HOOK_HEADER;
use crate::stdout::print;
use cutap_collect::Result;

pub fn run() -> Result<()> {
    print(HOOK_HEADER)
}
