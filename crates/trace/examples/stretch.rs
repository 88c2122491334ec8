//! `stretch FROM TO CALLS`: makes a recording of at least so many calls out of a short one.

use cutap_trace::synthetic::stretch;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, from, to, calls] = &words[..] else {
        eprintln!("usage: stretch FROM TO CALLS");
        std::process::exit(2);
    };
    let wanted: u64 = calls.parse().map_err(std::io::Error::other)?;
    let once = stretch(Path::new(from), Path::new(to), 1)?.max(1);
    let times = u32::try_from(wanted.div_ceil(once)).map_err(std::io::Error::other)?;
    println!("{} calls", stretch(Path::new(from), Path::new(to), times)?);
    Ok(())
}
