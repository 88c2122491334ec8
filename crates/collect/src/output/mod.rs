//! Where lines and recordings go: formats, the file of `-o`, and the last lines of a recording.

pub mod omission_notes;
pub mod output_file;
pub mod output_format;
pub mod output_name;
pub mod previous;
pub mod record_summary;
pub mod text_options;
