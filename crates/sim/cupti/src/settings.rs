//! The settings of the simulated CUPTI, read once from the environment. A wrong value has no effect.

use cutap_calls::generated::gpu_time::VERSIONS;
use cutap_calls::gpu_time::{Version, version_named};
use cutap_machine::{FirstUse, variable};

/// Which faults are planted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// `late`: a plain flush hands out only what was there at the flush before it.
    pub late: bool,
    /// `zero`: each hundredth record of work has the times 0.
    pub zero: bool,
    /// `lost`: each thousandth record of work is missing.
    pub lost: bool,
    /// `swapped`: each hundredth record of work comes before the one in front of it.
    pub swapped: bool,
    /// `mixed`: each hundredth record of work and the one in front of it have each other's correlation id.
    pub mixed: bool,
    /// `early`: each hundredth record of work begins a second earlier.
    pub early: bool,
    /// `overdue`: each hundredth record of work ends a second later.
    pub overdue: bool,
    /// `refuse`: no kind can be enabled, for lack of privileges.
    pub refuse: bool,
}

impl Faults {
    fn parse(list: &str) -> Faults {
        let has = |name: &str| list.split(',').any(|fault| fault.trim() == name);
        Faults {
            late: has("late"),
            zero: has("zero"),
            lost: has("lost"),
            swapped: has("swapped"),
            mixed: has("mixed"),
            early: has("early"),
            overdue: has("overdue"),
            refuse: has("refuse"),
        }
    }
}

#[derive(Debug)]
pub struct Settings {
    pub version: &'static Version,
    pub faults: Faults,
}

/// The settings, which are read at the first call.
pub fn settings() -> &'static Settings {
    static SETTINGS: FirstUse<Settings> = FirstUse::empty();
    SETTINGS.get(|| Settings { version: version(variable(c"CUTAP_SIM_CUPTI").as_deref()), faults: faults() }).0
}

fn version(name: Option<&str>) -> &'static Version {
    let default = || version_named("13.0").unwrap_or(&VERSIONS[0]);
    name.and_then(version_named).unwrap_or_else(default)
}

fn faults() -> Faults {
    variable(c"CUTAP_SIM_CUPTI_FAULTS").map(|list| Faults::parse(&list)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_faults() {
        let names = [None, Some("11.7"), Some("13.5"), Some("1.0")].map(|name| version(name).name);
        assert_eq!(names, ["13.0", "11.7", "13.5", "13.0"]);
        let faults = Faults::parse("late, lost,none");
        assert_eq!(faults, Faults { late: true, lost: true, ..Faults::default() });
    }
}
