//! Limits of one multiprocessor: how much shared memory a launch may use, and how many blocks fit.

use super::device::attribute;
use crate::abi::{Answer, Fault};
use crate::state::Function;
use cutap_machine::{attribute_id, cluster, function_attribute};

/// Bytes of shared memory of a block that has not opted in to more.
const SHARED: i32 = 48 << 10;

/// Bytes of dynamic shared memory that a launch may ask for.
pub fn max_dynamic_shared(f: &Function) -> i32 {
    f.attributes
        .get(&function_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES)
        .copied()
        .unwrap_or((SHARED - f.kernel().shared).max(0))
}

/// Blocks of `block` threads that fit on one multiprocessor, by threads, registers and shared memory.
pub fn blocks(f: &Function, block: i32, dynamic: usize) -> Answer<i32> {
    if block <= 0 {
        return Err(Fault::INVALID_VALUE);
    }
    if block > f.max_threads() {
        return Ok(0);
    }
    Ok(fitting(block, f.kernel().registers, f.kernel().shared as usize, dynamic, most_shared()?))
}

/// Bytes of shared memory of a multiprocessor.
fn most_shared() -> Answer<usize> {
    attribute(0, attribute_id::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR).map(|bytes| bytes as usize)
}

/// Blocks on one multiprocessor, by what each of them needs.
fn fitting(block: i32, registers: i32, own_shared: usize, dynamic: usize, most: usize) -> i32 {
    /// The system's part of a block's shared memory, and the unit in which blocks get it.
    const SYSTEM: usize = 1024;
    const SHARED_UNIT: usize = 128;
    /// Warps of a multiprocessor, which has four parts with their registers. A warp gets these in units.
    const WARPS: i32 = 64;
    const PARTS: i32 = 4;
    const REGISTERS_OF_PART: i32 = 16384;
    const REGISTER_UNIT: i32 = 256;
    const BLOCKS: i32 = 32;
    let warps = (block + 31) / 32;
    let of_warp = (registers.max(1) * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    let by_registers = REGISTERS_OF_PART / of_warp * PARTS / warps;
    let shared = (own_shared + SYSTEM).saturating_add(dynamic).checked_next_multiple_of(SHARED_UNIT);
    let by_shared = most / shared.unwrap_or(usize::MAX);
    (WARPS / warps).min(by_registers).min(by_shared as i32).min(BLOCKS)
}

/// How many clusters of `size` blocks run together. A cluster runs within one group of multiprocessors, and has a block
/// on each of `size` of them at least: a smaller group runs none. `groups` says how many multiprocessors each has.
pub fn active_clusters(groups: &[i32], blocks_of_each: i32, size: i32) -> i32 {
    let blocks = blocks_of_each.min(cluster::BLOCKS);
    groups.iter().filter(|group| **group >= size).map(|group| group * blocks / size.max(1)).sum()
}

/// How many clusters of `size` blocks of a launch run together, of which `blocks_of_each` fit on a multiprocessor. A
/// cluster that is not portable needs the kernel's consent, `is_wide`.
pub fn clusters_of_launch(groups: &[i32], blocks_of_each: i32, size: i32, is_wide: bool) -> Answer<i32> {
    if size > cluster::PORTABLE && !is_wide {
        return Err(Fault::INVALID_CLUSTER_SIZE);
    }
    Ok(active_clusters(groups, blocks_of_each, size))
}

/// Blocks of the largest cluster that runs; 0 if no block fits.
pub fn largest_cluster(groups: &[i32], blocks_of_each: i32, is_wide: bool) -> i32 {
    let most = if is_wide { cluster::LARGEST } else { cluster::PORTABLE };
    (1..=most).rev().find(|size| active_clusters(groups, blocks_of_each, *size) > 0).unwrap_or(0)
}

/// Blocks of a launch that fit on one multiprocessor.
pub fn blocks_of_launch(f: &Function, block: [u32; 3], dynamic: u32) -> Answer<i32> {
    let threads =
        block.iter().fold(1_i32, |product, side| product.saturating_mul(i32::try_from(*side).unwrap_or(i32::MAX)));
    blocks(f, threads, dynamic as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::FloorPlan;
    use cutap_machine::{GROUPS, PLACES};
    use serde_json::Value;
    use std::process::{Command, Stdio};

    /// All answers of libcuda on the H200 with this floor plan, from `tests/gpu/programs/occupancy_clusters.c`.
    #[test]
    fn all_answers_of_libcuda() {
        let file =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/gpu/results/2026-11-28-occupancy-clusters-h200.jsonl.gz");
        let text = Command::new("gzip").args(["-dc", file]).stderr(Stdio::inherit()).output().unwrap().stdout;
        let groups = FloorPlan { groups: &GROUPS, places: &PLACES }.multiprocessors();
        let (mut kernel, mut compared) = (Value::Null, 0);
        for line in std::str::from_utf8(&text).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if row.get("registers").is_some() {
                kernel = row;
                continue;
            }
            // libcuda refuses each question without a kernel. Maps of tensors are compared in crates/tensor-map.
            if row.get("active").is_none() || row["kernel"] == "none" {
                continue;
            }
            let number = |row: &Value, name: &str| row[name].as_i64().unwrap() as i32;
            let pair = |answer: Answer<i32>| answer.map_or_else(|why| (i64::from(why.0), -1), |n| (0, i64::from(n)));
            let is_wide = number(&kernel, "non_portable") != 0;
            let (own_shared, dynamic) = (number(&kernel, "static") as usize, number(&row, "shared") as usize);
            let of_sm = fitting(number(&row, "threads"), number(&kernel, "registers"), own_shared, dynamic, 228 << 10);
            let active = clusters_of_launch(&groups, of_sm, number(&row, "cluster"), is_wide);
            let answers = [
                ("active", pair(active)),
                ("potential", pair(Ok(largest_cluster(&groups, of_sm, is_wide)))),
                ("blocks", pair(Ok(of_sm))),
            ];
            for (name, answer) in answers {
                let recorded = (row[name][0].as_i64().unwrap(), row[name][1].as_i64().unwrap());
                assert_eq!(answer, recorded, "{name} of {line}");
            }
            compared += 1;
        }
        assert_eq!(compared, 4774);
    }

    #[test]
    fn clusters_do_not_cross_groups() {
        assert_eq!([1, 2, 4, 8, 16].map(|size| active_clusters(&[16, 16, 18, 2], 1, size)), [52, 26, 12, 6, 3]);
        assert_eq!(active_clusters(&[16, 18], 2, 16), 4);
        assert_eq!(active_clusters(&[16, 18], 0, 2), 0);
        // Two multiprocessors have room for four blocks, but not for a cluster of four.
        assert_eq!(active_clusters(&[2], 2, 4), 0);
    }

    /// cuOccupancyMaxActiveBlocksPerMultiprocessor on an H100: 1 KiB of static and 6 KiB of dynamic shared memory.
    #[test]
    fn the_system_counts_once() {
        assert_eq!(fitting(32, 10, 1024, 6 << 10, 228 << 10), 28);
    }
}
