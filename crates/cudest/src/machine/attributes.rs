//! Device attributes of CUDA, by their numbers (`CUdevice_attribute`). What hardware determines equals libcuda's on an
//! H200. What a driver determines is this driver's own truth: [`DIFFERENCES`] has each with its reason.

use crate::kernel_driver::facts::Facts;

/// An attribute that is not libcuda's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The attribute's number.
    pub id: u32,
    /// Its name, without `CU_DEVICE_ATTRIBUTE_`.
    pub name: &'static str,
    /// The value here.
    pub value: i32,
    /// Why it is another one.
    pub reason: &'static str,
}

const fn own(id: u32, name: &'static str, value: i32, reason: &'static str) -> Difference {
    Difference { id, name, value, reason }
}

/// Every attribute whose value differs from libcuda 580.159.04's on an H200.
pub const DIFFERENCES: &[Difference] = &[
    own(78, "STREAM_PRIORITIES_SUPPORTED", 0, "streams have no priorities"),
    own(
        89,
        "CONCURRENT_MANAGED_ACCESS",
        0,
        "managed memory is pinned memory of the machine: CPU and GPU reach it at any time, but it never moves",
    ),
    own(
        90,
        "COMPUTE_PREEMPTION_SUPPORTED",
        0,
        "a kernel of more than four seconds ends with Xid 109 when another process wants the GPU",
    ),
    own(96, "COOPERATIVE_MULTI_DEVICE_LAUNCH", 0, "a context is of one GPU"),
    own(103, "HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED", 0, "memory is not shared between processes"),
    own(107, "GENERIC_COMPRESSION_SUPPORTED", 0, "memory is never compressed"),
    own(108, "MAX_PERSISTING_L2_CACHE_SIZE", 0, "no part of the L2 cache is kept for a stream"),
    own(109, "MAX_ACCESS_POLICY_WINDOW_SIZE", 0, "as MAX_PERSISTING_L2_CACHE_SIZE"),
    own(110, "GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED", 0, "no memory is given to other devices"),
    own(112, "SPARSE_CUDA_ARRAY_SUPPORTED", 0, "there are no arrays"),
    own(113, "READ_ONLY_HOST_REGISTER_SUPPORTED", 0, "registered memory is always writable"),
    own(114, "TIMELINE_SEMAPHORE_INTEROP_SUPPORTED", 0, "no semaphores of other interfaces"),
    own(115, "MEMORY_POOLS_SUPPORTED", 0, "no pools with a stream order"),
    own(116, "GPU_DIRECT_RDMA_SUPPORTED", 0, "no memory is given to other devices"),
    own(117, "GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS", 0, "as GPU_DIRECT_RDMA_SUPPORTED"),
    own(118, "GPU_DIRECT_RDMA_WRITES_ORDERING", 0, "as GPU_DIRECT_RDMA_SUPPORTED"),
    own(119, "MEMPOOL_SUPPORTED_HANDLE_TYPES", 0, "no pools"),
    own(120, "CLUSTER_LAUNCH", 0, "kernels of clusters are refused"),
    own(121, "DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED", 0, "there are no arrays"),
    own(122, "CAN_USE_64_BIT_STREAM_MEM_OPS", 0, "fences take the place of waits for a value in memory"),
    own(123, "CAN_USE_STREAM_WAIT_VALUE_NOR", 0, "as CAN_USE_64_BIT_STREAM_MEM_OPS"),
    own(124, "DMA_BUF_SUPPORTED", 0, "no memory is given to other devices"),
    own(125, "IPC_EVENT_SUPPORTED", 0, "events are not shared between processes"),
    own(126, "MEM_SYNC_DOMAIN_COUNT", 1, "all work of a context is in one domain"),
    own(127, "TENSOR_MAP_ACCESS_SUPPORTED", 0, "no descriptors of tensors are made"),
    own(128, "HANDLE_TYPE_FABRIC_SUPPORTED", 0, "memory is not shared between machines"),
    own(129, "UNIFIED_FUNCTION_POINTERS", 0, "addresses of functions belong to one module"),
    own(
        141,
        "HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED",
        0,
        "memory of the machine is allocated and mapped at once",
    ),
    own(142, "HOST_NUMA_MEMORY_POOLS_SUPPORTED", 0, "no pools"),
    own(144, "HOST_MEMORY_POOLS_SUPPORTED", 0, "no pools"),
    own(145, "HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", 0, "memory of the machine is allocated and mapped at once"),
];

/// Limits of compute capability 9.0, and answers that are the same for both drivers.
#[rustfmt::skip]
const FIXED: &[(u32, i32)] = &[
    (1, 1024), (2, 1024), (3, 1024), (4, 64), (5, 2_147_483_647), (6, 65535), (7, 65535), (8, 49152), (9,
    65536), (10, 32), (11, 2_147_483_647), (12, 65536), (14, 512), (15, 1), (17, 0), (18, 0), (19, 1), (20, 0),
    (21, 131_072), (22, 131_072), (23, 65536), (24, 16384), (25, 16384), (26, 16384), (27, 32768), (28, 32768),
    (29, 2048), (30, 512), (31, 1), (35, 0), (39, 2048), (41, 1), (42, 32768), (43, 2048), (44, 1), (45, 32768),
    (46, 32768), (47, 8192), (48, 8192), (49, 32768), (51, 32), (52, 32768), (53, 32768), (54, 2046), (55,
    32768), (56, 131_072), (57, 65536), (58, 16384), (59, 16384), (60, 16384), (61, 32768), (62, 2048), (63,
    32768), (64, 32768), (65, 2048), (66, 32768), (67, 32768), (68, 2046), (69, 268_435_456), (70, 131_072),
    (71, 65000), (72, 2_097_120), (73, 32768), (74, 32768), (77, 32768), (79, 1), (80, 1), (83, 1), (84, 0),
    (85, 0), (86, 0), (87, 2), (88, 0), (91, 1), (92, 0), (93, 0), (94, 0), (95, 1), (98, 0), (99, 1), (100, 0),
    (101, 0), (102, 1), (104, 0), (105, 0), (106, 32), (111, 1024), (130, 0), (131, -1), (132, 0), (133, 0),
    (134, 0), (135, 0), (136, 0), (137, 0), (138, 0), (143, 0), (146, 0), (147, 0),
];

/// Shared memory of an SM, and of a block on request; without the system's KiB.
const SHARED_OF_SM: i32 = 228 << 10;
const SHARED_OF_BLOCK: i32 = 227 << 10;

impl Facts {
    /// The attributes of an H200: number and value, by number. None for an attribute that the driver did not answer.
    #[must_use]
    pub fn attributes(&self) -> Vec<(u32, Option<i32>)> {
        let small = |value: u64| i32::try_from(value).ok();
        let (domain, bus, slot, _) = self.card.pci;
        let pair =
            |device: u16, vendor: u16| i32::from_ne_bytes((u32::from(device) << 16 | u32::from(vendor)).to_ne_bytes());
        let engines = self.copy_engines.iter().filter(|(_, of_graphics)| !of_graphics).count();
        let queried = [
            (13, self.clocks.and_then(|(graphics, _)| small(graphics.into()))),
            (16, small(self.sms().into())),
            (32, self.ecc.map(i32::from)),
            (33, Some(bus.into())),
            (34, Some(slot.into())),
            (36, self.clocks.and_then(|(_, memory)| small(memory.into()))),
            (37, self.bus_width.and_then(|bits| small(bits.into()))),
            (38, self.l2.and_then(small)),
            (40, small(engines as u64)),
            (50, small(domain.into())),
            (75, Some(9)),
            (76, Some(0)),
            (81, Some(SHARED_OF_SM)),
            (82, Some(65536)),
            (97, Some(SHARED_OF_BLOCK)),
            (139, Some(pair(self.card.pci_id.1, self.card.pci_id.0))),
            (140, self.subsystem.map(|(vendor, device)| pair(device, vendor))),
        ];
        let fixed = FIXED.iter().map(|(id, value)| (*id, Some(*value)));
        let own = DIFFERENCES.iter().map(|own| (own.id, Some(own.value)));
        let mut all: Vec<_> = queried.into_iter().chain(fixed).chain(own).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_driver::link::Card;

    /// What real libcuda answered on an H200: number, name, value.
    fn recorded() -> Vec<(u32, String, i32)> {
        let text = include_str!("../../../../api/devices/h200.toml");
        let part = |line: &str, key: &str| {
            let rest = line.split_once(key)?.1.trim_start_matches([' ', '=', '"']);
            rest.split([',', '"', ' ']).next().map(str::to_owned)
        };
        let row = |line: &str| {
            Some((part(line, "{ id")?.parse().ok()?, part(line, "name")?, part(line, "value")?.parse().ok()?))
        };
        text.lines().filter_map(row).collect()
    }

    /// What the kernel driver answered on the same H200.
    fn h200() -> Facts {
        Facts {
            card: Card { id: 6, minor: 0, pci: (0, 0, 6, 0), pci_id: (0x10de, 0x2335), bars: (16 << 20, 256 << 30) },
            name: "NVIDIA H200".to_owned(),
            uuid: [0; 16],
            memory: None,
            tpcs: vec![8, 8, 8, 8, 8, 8, 9, 9],
            floor_plan: Vec::new(),
            chip: None,
            ecc: Some(true),
            bars: Vec::new(),
            classes: vec![0xcbc0],
            copy_engines: vec![(0, true), (1, true), (2, false), (3, false), (4, false)],
            nvlinks: None,
            clocks: Some((1_980_000, 3_201_000)),
            bus_width: Some(6016),
            l2: Some(62_914_560),
            subsystem: Some((0x10de, 0x18bf)),
            fixed_facts: Default::default(),
        }
    }

    #[test]
    fn all_but_the_listed_ones_equal_libcuda() {
        let (recorded, ours) = (recorded(), h200().attributes());
        assert!(recorded.len() > 140, "{}", recorded.len());
        for (id, name, value) in &recorded {
            let own = ours.iter().find(|(own, _)| own == id).unwrap_or_else(|| panic!("{name} is missing"));
            match DIFFERENCES.iter().find(|difference| difference.id == *id) {
                Some(difference) => {
                    assert_eq!(difference.name, name);
                    assert_ne!(difference.value, *value, "{name} is listed and equal");
                }
                None => assert_eq!(own.1, Some(*value), "{name}"),
            }
        }
        assert_eq!(ours.len(), recorded.len());
        assert!(ours.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
