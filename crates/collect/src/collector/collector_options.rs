//! The options of the collector process. The process that starts it passes them as one argument, in JSON.

use crate::output::output_format::OutputFormat;
use cutap_report::KernelStyle;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// The options of a collector. Its descriptors are: 0 the channel to the foreground process, 1 the output, 2 for
/// messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorOptions {
    /// The run directory.
    #[serde(with = "path")]
    pub run: PathBuf,
    /// The filter's text.
    pub filter: Option<String>,
    /// How to print.
    pub form: OutputFormat,
    /// Print calls to the kernel driver alone, in this style.
    #[serde(default)]
    pub kernel: Option<KernelStyle>,
    /// A driver is there. Where none is, the foreground process has said so, and that no call was seen is no news.
    pub driver: bool,
    /// Do not print: put what the rings hold into a recording.
    pub record: bool,
    /// Remove the run directory if the foreground process is gone at the end.
    pub temporary: bool,
    /// Another collector of this run was killed: continue where it was.
    pub resumes: bool,
    /// The output is a file that was made for the collector, and no other process writes to it.
    pub own_file: bool,
    /// Descriptor of the memory through which lines go, if they do (`replayable_pipe`).
    pub spool: Option<i32>,
    /// Bytes that the processes of a flight recorder that have ended may keep together; 0: no limit.
    pub total: u64,
    /// The NVML library that is asked for clocks; empty: clocks are not wanted.
    #[serde(with = "path", default)]
    pub nvml: PathBuf,
    /// Save what `cutap where` says when the program has hung for so many nanoseconds; 0: do not look.
    pub on_hang_ns: u64,
}

impl CollectorOptions {
    /// The argument of the collector process.
    pub fn to_argument(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl FromStr for CollectorOptions {
    type Err = serde_json::Error;
    fn from_str(argument: &str) -> serde_json::Result<CollectorOptions> {
        serde_json::from_str(argument)
    }
}

/// A path as text; a path that is not UTF-8 as its bytes.
mod path {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(to),
            None => path.as_os_str().as_bytes().serialize(to),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Text(text) => text.into(),
            Form::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn any_bytes_survive() {
        let options = |run: &[u8], filter: Option<&str>| CollectorOptions {
            run: OsStr::from_bytes(run).into(),
            filter: filter.map(str::to_owned),
            form: OutputFormat { json: true, ..OutputFormat::default() },
            kernel: Some(KernelStyle::default()),
            driver: true,
            record: false,
            temporary: true,
            resumes: false,
            own_file: true,
            spool: Some(7),
            total: u64::MAX,
            nvml: PathBuf::new(),
            on_hang_ns: 1,
        };
        for given in [options(b"/tmp/r", None), options(b"/\xff\xfe \"\n\\", Some("-e \"\u{1}ä"))] {
            let argument = given.to_argument().unwrap();
            assert_eq!(argument.parse::<CollectorOptions>().unwrap(), given, "{argument}");
        }
        assert!("{}".parse::<CollectorOptions>().is_err());
    }
}
