//! Where a run is made: the host, which start of it, and what the launcher of a job told its ranks.

use std::ffi::OsString;
use std::fmt::Write as _;

/// Variables of launchers: torchrun's by their names, those of Open MPI, of PMI and of Slurm by their beginnings.
const NAMES: [&str; 10] = [
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "MV2_COMM_WORLD_RANK",
];
const BEGINNINGS: [&str; 3] = ["OMPI_", "PMI", "SLURM_"];
/// Parts of the names of variables that may hold a secret: they are left out.
const SECRETS: [&str; 6] = ["JWT", "TOKEN", "SECRET", "PASS", "KEY", "CRED"];
/// Bytes of a value, and of all together, at most.
const MOST_VALUE: usize = 1 << 10;
const MOST_BYTES: usize = 1 << 15;

/// The facts of this process, a `NAME=VALUE` a line: `host`, `boot_id`, then the launcher's variables.
pub fn host_facts() -> String {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let first = [("host", text("/proc/sys/kernel/hostname")), ("boot_id", text("/proc/sys/kernel/random/boot_id"))];
    let mut variables: Vec<(String, String)> = std::env::vars_os().filter_map(launcher_variable).collect();
    variables.sort();
    let first = first.into_iter().map(|(name, value)| (name.to_owned(), value));
    let mut lines = String::new();
    for (name, value) in first.filter(|(_, value)| !value.is_empty()).chain(variables) {
        if lines.len() + name.len() + value.len() < MOST_BYTES {
            let _ = writeln!(lines, "{name}={value}");
        }
    }
    lines
}

/// A variable of a launcher that is kept.
fn launcher_variable((name, value): (OsString, OsString)) -> Option<(String, String)> {
    let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
    let is_named = NAMES.contains(&&*name) || BEGINNINGS.iter().any(|start| name.starts_with(start));
    let is_kept = is_named && !SECRETS.iter().any(|part| name.contains(part));
    (is_kept && value.len() <= MOST_VALUE && !value.contains(['\n', '\r'])).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_launchers_and_no_secret() {
        let kept = |name: &str, value: &str| launcher_variable((name.into(), value.into())).is_some();
        for name in ["RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMIX_RANK", "SLURM_PROCID"] {
            assert!(kept(name, "1"), "{name}");
        }
        for name in ["HOME", "RANKS", "SLURM_JWT", "PMI_KEY", "SLURMD"] {
            assert!(!kept(name, "1"), "{name}");
        }
        assert!(!kept("RANK", "1\nhost=other"));
    }
}
