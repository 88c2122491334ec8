//! Which requests gVisor's nvproxy lets through for a driver.

use std::fmt;

use crate::generated::nvproxy::{DRIVERS, PERMITTED, RELEASE};

/// A request that nvproxy knows.
#[derive(Debug)]
pub(crate) struct Permitted {
    pub(crate) kind: &'static str,
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    /// One of these capabilities of a sandbox is needed.
    pub(crate) capabilities: &'static str,
    /// Places in `DRIVERS`: the first driver with the request, and the first without.
    pub(crate) drivers: (usize, usize),
}

/// nvproxy, as it treats one driver.
#[derive(Debug, Clone, Copy)]
pub struct Nvproxy {
    driver: usize,
    exact: bool,
}

/// What nvproxy does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It lets the request through where the sandbox has one of these capabilities.
    Permits(&'static str),
    /// It lets the request through without looking at it: a control that goes to the GSP unchanged.
    Opaque,
    /// It refuses the request.
    Refuses,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permits(capabilities) => f.write_str(capabilities),
            Self::Opaque => f.write_str("passed on to the GSP"),
            Self::Refuses => f.write_str("refused"),
        }
    }
}

/// Controls with this bit go to the GSP unchanged.
const GSS_LEGACY: u32 = 0x8000;

impl Nvproxy {
    /// For a version of the driver, such as `580.159.04`: that one, else the newest before it, else the oldest.
    #[must_use]
    pub fn of(version: &str) -> Self {
        let release = numbers(version);
        let after = DRIVERS.partition_point(|driver| numbers(driver) <= release);
        let driver = after.saturating_sub(1);
        Self { driver, exact: DRIVERS.get(driver).is_some_and(|known| numbers(known) == release) }
    }

    /// What it is, for people.
    #[must_use]
    pub fn description(&self) -> String {
        let driver = DRIVERS.get(self.driver).copied().unwrap_or_default();
        let nearest = if self.exact { "" } else { ", the nearest that it knows" };
        format!("gVisor {RELEASE} with driver {driver}{nearest}")
    }

    /// What it does with a request of a kind (`escape`, `control`, `class`, `uvm`).
    #[must_use]
    pub fn answer(&self, kind: &str, number: u32) -> Answer {
        let permitted = PERMITTED.iter().find(|request| {
            (request.kind, request.number) == (kind, number)
                && (request.drivers.0..request.drivers.1).contains(&self.driver)
        });
        match permitted {
            Some(request) => Answer::Permits(request.capabilities),
            None if kind == "control" && number & GSS_LEGACY != 0 => Answer::Opaque,
            None => Answer::Refuses,
        }
    }

    /// nvproxy's name of a request, where it knows the request for any driver.
    #[must_use]
    pub fn name(kind: &str, number: u32) -> Option<&'static str> {
        PERMITTED.iter().find(|request| (request.kind, request.number) == (kind, number)).map(|request| request.name)
    }
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_or_the_newest_before_it() {
        assert_eq!(Nvproxy::of("580.159.04").description(), format!("gVisor {RELEASE} with driver 580.159.04"));
        let older = Nvproxy::of("580.142").description();
        assert!(older.ends_with("580.126.20, the nearest that it knows"), "{older}");
    }

    #[test]
    fn requests() {
        let proxy = Nvproxy::of("580.159.04");
        assert_eq!(proxy.answer("escape", 0x2a), Answer::Permits("compute,utility"));
        assert_eq!(proxy.answer("escape", 0x57), Answer::Permits("graphics,video"));
        assert_eq!(proxy.answer("control", 0x2080_9038), Answer::Opaque);
        assert_eq!(proxy.answer("control", 0x2081_0108), Answer::Refuses);
        assert_eq!(Nvproxy::name("uvm", 0x3000_0001), Some("UVM_INITIALIZE"));
    }

    /// A later driver has no range groups, an earlier one has.
    #[test]
    fn a_request_that_a_later_driver_lost() {
        let group = |driver: &str| Nvproxy::of(driver).answer("uvm", 23);
        assert_eq!((group("580.159.04"), group("620.06.00")), (Answer::Permits("compute,utility"), Answer::Refuses));
    }
}
