//! Sentences about parts of a recording or a run directory that are missing.

use std::path::Path;

/// Of a recording that lacks its end and to which no process adds.
pub fn without_end(path: &Path, at: u64) -> String {
    let path_text = path.display();
    format!(
        "{path_text} does not end in order: its collector was killed or could not write on, or it was cut off, at \
        byte {at}; what is left in the run directory is added with cutap recover DIR -o {path_text}"
    )
}

/// Of parts that only another file can have.
pub fn read_by_another(parts: u64) -> String {
    let (parts, them) = if parts == 1 { ("1 part".to_owned(), "it") } else { (format!("{parts} parts"), "them") };
    format!("{parts} of its calls had been read by a collector for its own output, which alone has {them}")
}

/// Of damaged parts of rings.
pub fn damaged_parts(parts: u64) -> String {
    if parts == 1 {
        "1 part of its calls is damaged".to_owned()
    } else {
        format!("{parts} parts of its calls are damaged")
    }
}
