//! Which tables a run is decoded with, and the decoded request of a call.

use crate::call::{Ioctl, KernelCall, Run};
use crate::error::{Error, Result};
use cutap_rm::{Call, DEFAULT_RELEASE, Device, Fit, Fragments, Request, Selection, Tables};

/// The release that is taken for logs of libcudest's shim.
const OF_SHIM: &str = "256.35";

/// Decodes the requests of one run.
#[derive(Debug, Clone)]
pub struct Decoder {
    /// The tables.
    pub tables: Tables,
    fit: Fit,
    driver: String,
    origin: Origin,
}

/// Where the version of the driver comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Given,
    Recorded,
    Shim,
    Running,
    Guessed,
}

impl Decoder {
    /// The decoder for a run. A version that the user gave precedes that of the recording, then that of the running
    /// driver.
    ///
    /// # Errors
    /// The version is none.
    pub fn new(given: Option<&str>, run: &Run) -> Result<Self> {
        let running = || running_driver().map(|version| (version, Origin::Running));
        let requested_release = given.map(|version| (version.to_owned(), Origin::Given));
        let recorded = run.head.driver.clone().map(|version| (version, Origin::Recorded));
        let of_shim = run.head.source.as_deref() == Some("shim");
        let shim = of_shim.then(|| (OF_SHIM.to_owned(), Origin::Shim));
        let release_and_origin = requested_release.or(recorded).or(shim).or_else(running);
        let (driver, origin) = release_and_origin.unwrap_or_else(|| (DEFAULT_RELEASE.to_owned(), Origin::Guessed));
        let Some(Selection { tables, fit }) = Tables::select(&driver) else {
            let driver = cutap_printable::printable(&driver).into_owned();
            return Err(Error::new(format!("{driver} is no driver version; give one such as {DEFAULT_RELEASE}")));
        };
        Ok(Self { tables, fit, driver, origin })
    }

    /// One sentence: which tables are used, and whether they are exact.
    #[must_use]
    pub fn description(&self) -> String {
        let release = self.tables.release();
        let driver = cutap_printable::printable(&self.driver);
        let origin = match self.origin {
            Origin::Given => "given by --driver",
            Origin::Recorded => "recorded",
            Origin::Shim => "assumed: libcudest's shim is of 2010",
            Origin::Running => "this machine's",
            Origin::Guessed => "assumed: the input has none, and --driver was not given",
        };
        let newest = Tables::all().last().map_or("", Tables::release);
        match self.fit {
            Fit::Exact => format!("driver {driver} ({origin}); the tables are exact"),
            Fit::SameBranch => format!("driver {driver} ({origin}); tables of {release}, the nearest of its branch"),
            Fit::OtherBranch if branch(&self.driver) > branch(newest) => format!(
                "driver {driver} ({origin}) is newer than all tables; those of {release} are used, much may differ"
            ),
            Fit::OtherBranch => {
                format!(
                    "driver {driver} ({origin}); no tables of its branch, those of {release} are used, much may differ"
                )
            }
        }
    }

    /// The driver that made the calls.
    #[must_use]
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Decodes a request.
    #[must_use]
    pub fn decode(&self, ioctl: &Ioctl, result: Option<i64>) -> Call {
        let before = ioctl.before.as_deref().unwrap_or_default();
        let returned = result.is_some();
        let after = ioctl.after.as_deref().or(returned.then_some(before));
        let piece = |p: &crate::Piece| {
            let after = p.after.clone().or_else(|| returned.then(|| p.before.clone()));
            (p.address, p.before.clone(), after)
        };
        let mut memory = Fragments { all: ioctl.memory.iter().map(piece).collect() };
        let request = u32::try_from(ioctl.request & 0xffff_ffff).unwrap_or(0);
        self.tables.decode(Request { device: device(ioctl), request, before, after, result }, &mut memory)
    }

    /// Decodes the request of a call; none where it is another system call.
    #[must_use]
    pub fn decode_call(&self, call: &KernelCall) -> Option<Call> {
        match &call.action {
            crate::Action::Ioctl(ioctl) => Some(self.decode(ioctl, call.result)),
            _ => None,
        }
    }
}

/// The device of a request. Where the path is unknown, a request of type 'F' went to a node of RM.
#[must_use]
pub fn device(ioctl: &Ioctl) -> Device {
    let of_rm = ioctl.request >> 8 & 0xff == u64::from(b'F');
    match Device::of_path(&ioctl.path) {
        Some(device) => device,
        None if ioctl.path.is_empty() && of_rm => Device::Control,
        None => Device::Other,
    }
}

fn branch(version: &str) -> u32 {
    version.split('.').next().and_then(|b| b.parse().ok()).unwrap_or(0)
}

/// The version of the driver that runs on this machine.
#[must_use]
pub fn running_driver() -> Option<String> {
    let version = std::fs::read_to_string("/sys/module/nvidia/version").ok()?;
    let version = version.trim().to_owned();
    Tables::select(&version).is_some().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(driver: &str) -> String {
        Decoder::new(Some(driver), &Run::default()).unwrap().description()
    }

    #[test]
    fn descriptions() {
        assert_eq!(sentence("580.142"), "driver 580.142 (given by --driver); the tables are exact");
        assert!(sentence("580.159.04").ends_with("tables of 580.142, the nearest of its branch"));
        assert!(sentence("999.1").contains("is newer than all tables; those of 595"), "{}", sentence("999.1"));
        assert!(sentence("195.36").contains("no tables of its branch"));
        assert!(Decoder::new(Some("new"), &Run::default()).unwrap_err().0.contains("is no driver version"));
    }
}
