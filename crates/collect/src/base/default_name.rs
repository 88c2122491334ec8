//! The file of a recording that was given no name: `run.cutap`, or `run.RANK.cutap` for a rank of a job.
//! The ranks of a job are often started in one folder.

use std::path::{Path, PathBuf};

/// What readers read that are given no file.
pub const DEFAULT: &str = "run.cutap";

/// Variables in which launchers tell a process its rank: torchrun, Open MPI, MPICH and Intel MPI, MVAPICH, PMIx, Slurm.
/// The first counts, for torchrun may itself be started by Slurm.
const RANKS: [&str; 6] =
    ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// The name of the file of this process.
pub fn default_name() -> PathBuf {
    named(|variable| std::env::var(variable).ok())
}

/// The rank that a launcher told this process.
pub fn rank() -> Option<u32> {
    rank_by(|variable| std::env::var(variable).ok())
}

fn rank_by(value: impl Fn(&str) -> Option<String>) -> Option<u32> {
    RANKS.into_iter().find_map(|variable| value(variable)?.parse::<u32>().ok())
}

fn named(value: impl Fn(&str) -> Option<String>) -> PathBuf {
    rank_by(value).map_or_else(|| DEFAULT.to_owned(), |rank| format!("run.{rank}.cutap")).into()
}

/// Recordings of ranks in the folder of a file that is not there, by rank.
pub fn of_ranks(path: &Path) -> Vec<PathBuf> {
    if path.file_name().is_none_or(|name| name != DEFAULT) {
        return Vec::new();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let rank = |name: &str| name.strip_prefix("run.")?.strip_suffix(".cutap")?.parse::<u32>().ok();
    let mut ranks: Vec<u32> = names.filter_map(|name| rank(&name)).collect();
    ranks.sort_unstable();
    ranks.into_iter().map(|rank| path.with_file_name(format!("run.{rank}.cutap"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(variables: &[(&str, &str)]) -> String {
        let value = |wanted: &str| Some(variables.iter().find(|(name, _)| *name == wanted)?.1.to_owned());
        named(value).display().to_string()
    }

    #[test]
    fn a_rank_is_in_the_name() {
        assert_eq!(name(&[]), "run.cutap");
        for launcher in RANKS {
            assert_eq!(name(&[(launcher, "3")]), "run.3.cutap");
        }
        assert_eq!(name(&[("SLURM_PROCID", "0"), ("RANK", "12")]), "run.12.cutap");
        for no_rank in ["", "-1", "high", "../x", "1/2"] {
            assert_eq!(name(&[("RANK", no_rank)]), "run.cutap", "{no_rank}");
            assert_eq!(name(&[("RANK", no_rank), ("PMI_RANK", "1")]), "run.1.cutap", "{no_rank}");
        }
    }
}
