//! The driver's part of constant bank 0: what a kernel reads of its launch besides its parameters. Positions and values
//! are those of libcuda 580 on sm_90: the test compares them with thirteen recorded launches.

use super::qmd::{Dim3, in_clusters};

/// The bytes before the parameters of sm_90. A cubin says itself where its parameters are.
pub(crate) const HEADER: usize = 0x210;

/// The bytes of the local window that a thread has above its stack. libcuda has more of them where a module calls its
/// functions.
pub(crate) const LOCAL_OVERHEAD: u32 = 0x240;
/// The bytes of the local window.
const LOCAL_WINDOW: u32 = 16 << 20;
/// The first bytes of a block's shared memory belong to the system.
pub(crate) const SYSTEM_SHARED: u32 = 0x400;

/// Where each word or pair of words is.
mod at {
    pub const BLOCK: usize = 0x00;
    pub const GRID: usize = 0x0c;
    pub const SHARED_WINDOW: usize = 0x18;
    pub const LOCAL_WINDOW: usize = 0x20;
    /// Where a thread's stack begins, downwards, as an offset in the local window.
    pub const STACK: usize = 0x28;
    pub const DYNAMIC_SHARED: usize = 0x2c;
    /// A number of the launch (`%gridid`).
    pub const GRID_ID: usize = 0x30;
    pub const DESCRIPTOR: usize = 0x38;
    /// Environment registers 1 (high word) and 2 (low word).
    pub const GRID_WORKSPACE: usize = 0x44;
    /// Addresses of the constant banks 0, 1, 3 and 4. The place of bank 3 is inferred: no recorded kernel has one.
    pub const BANKS: [(usize, usize); 4] = [(0, 0xc0), (1, 0xc8), (3, 0xd0), (4, 0xd8)];
    /// The SMs of the GPU: 132 in all recordings.
    pub const SMS: usize = 0x10c;
    pub const IS_COOPERATIVE: usize = 0x110;
    pub const SYSTEM_SHARED: usize = 0x114;
    pub const CODE: usize = 0x118;
    /// All shared memory of a block.
    pub const SHARED: usize = 0x13c;
    /// Whether the launch names the sides of a cluster, even 1 x 1 x 1.
    pub const HAS_CLUSTER: usize = 0x140;
    pub const CLUSTER: usize = 0x144;
    /// 1 / side, as floats.
    pub const CLUSTER_PARTS: usize = 0x150;
    /// The grid in clusters.
    pub const CLUSTERS: usize = 0x15c;
    /// From the shared memory of one block of a cluster to the next one's, and the window in which they are.
    pub const SHARED_DISTANCE: usize = 0x16c;
    pub const CLUSTER_WINDOW: usize = 0x170;
    pub const CLUSTER_BLOCKS: usize = 0x188;
    /// Addresses of the parameters and of their end.
    pub const PARAMETERS: usize = 0x198;
    pub const PARAMETERS_END: usize = 0x1a0;
    /// Eight random bytes of the context, the lowest of them 0: the guard of a protected stack, as it seems.
    pub const GUARD: usize = 0x200;
}

/// Words of libcuda with one value in all recordings, whose meaning and readers are unknown.
const UNKNOWN: [(usize, u32); 3] = [(0x40, 0x0384_32c8), (0x58, 1), (0x68, 0x120)];
/// An address of libcuda's, `0x2_0500_0000` in all recordings, whose meaning and readers are unknown. It stays 0 here.
#[cfg(test)]
const UNKNOWN_ADDRESS: usize = 0x1a8;

/// What is the same for all launches of a context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub shared_window: u64,
    pub local_window: u64,
    pub sms: u32,
    /// A random number.
    pub guard: u64,
}

/// What a launch gives to bank 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub grid: Dim3,
    pub block: Dim3,
    /// Blocks of a cluster, if the launch or the kernel names them.
    pub cluster: Option<Dim3>,
    /// Shared memory of a block, with the system's.
    pub shared: u32,
    /// The dynamic part of it.
    pub dynamic: u32,
    /// The address of the kernel's code.
    pub code: u64,
}

/// What is known once a launch has its place in a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// A number of the launch, which no other launch of its lane has.
    pub grid_id: u64,
    pub descriptor: u64,
    pub bank: u64,
    pub parameters_at: u64,
    pub parameters_size: u64,
}

/// The bytes before the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header([u8; HEADER]);

impl Header {
    pub fn new(machine: &Machine, launch: &Launch) -> Self {
        let mut header = Self([0; HEADER]);
        let Launch { grid, block, cluster, shared, dynamic, code } = *launch;
        let sides = cluster.unwrap_or((1, 1, 1));
        let part = |side: u32| (1.0 / side as f32).to_bits();
        header.put_sides(at::BLOCK, block);
        header.put_sides(at::GRID, grid);
        header.put_address(at::SHARED_WINDOW, machine.shared_window);
        header.put_address(at::LOCAL_WINDOW, machine.local_window);
        header.put(at::STACK, LOCAL_WINDOW - LOCAL_OVERHEAD);
        header.put(at::DYNAMIC_SHARED, dynamic);
        header.put(at::SMS, machine.sms);
        header.put(at::SYSTEM_SHARED, SYSTEM_SHARED);
        header.put_address(at::CODE, code);
        header.put(at::SHARED, shared);
        header.put(at::HAS_CLUSTER, cluster.is_some().into());
        header.put_sides(at::CLUSTER, sides);
        header.put_sides(at::CLUSTER_PARTS, (part(sides.0), part(sides.1), part(sides.2)));
        header.put_sides(at::CLUSTERS, in_clusters(grid, sides));
        header.put(at::SHARED_DISTANCE, 1 << 24);
        header.put_address(at::CLUSTER_WINDOW, machine.shared_window);
        header.put(at::CLUSTER_BLOCKS, sides.0.wrapping_mul(sides.1).wrapping_mul(sides.2));
        header.put_address(at::GUARD, machine.guard & !0xff);
        for (place, value) in UNKNOWN {
            header.put(place, value);
        }
        header
    }

    /// Tells a kernel where the memory is by which its grid synchronizes.
    pub fn set_grid_workspace(&mut self, address: u64) {
        self.put(at::GRID_WORKSPACE, (address >> 32) as u32);
        self.put(at::GRID_WORKSPACE + 4, address as u32);
        self.put(at::IS_COOPERATIVE, 1);
    }

    /// The address of a constant bank of the module or of the kernel.
    pub fn set_bank(&mut self, bank: usize, address: u64) {
        if let Some((_, place)) = at::BANKS.iter().find(|(number, _)| *number == bank) {
            self.put_address(*place, address);
        }
    }

    #[inline]
    pub fn set_place(&mut self, place: &Place) {
        let parameters = place.bank + place.parameters_at;
        self.put_address(at::GRID_ID, place.grid_id);
        self.put_address(at::DESCRIPTOR, place.descriptor);
        self.set_bank(0, place.bank);
        self.put_address(at::PARAMETERS, parameters);
        self.put_address(at::PARAMETERS_END, parameters + place.parameters_size);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    fn put(&mut self, place: usize, value: u32) {
        if let Some(word) = self.0.get_mut(place..place + 4) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    #[inline]
    fn put_address(&mut self, place: usize, value: u64) {
        self.put(place, value as u32);
        self.put(place + 4, (value >> 32) as u32);
    }

    #[inline]
    fn put_sides(&mut self, place: usize, (x, y, z): Dim3) {
        self.put(place, x);
        self.put(place + 4, y);
        self.put(place + 8, z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::truth::launches;

    /// Each word is libcuda's, but for an address of its memory that this driver does not have.
    #[test]
    fn equal_to_libcuda() {
        let launches = launches();
        assert_eq!(launches.len(), 13);
        let mut workspace = None;
        for truth in launches {
            let word = |place: usize| u32::from_le_bytes(truth.header[place..place + 4].try_into().unwrap());
            let wide = |place: usize| u64::from(word(place)) | u64::from(word(place + 4)) << 32;
            let machine = Machine {
                shared_window: wide(at::SHARED_WINDOW),
                local_window: wide(at::LOCAL_WINDOW),
                sms: 132,
                guard: wide(at::GUARD),
            };
            let launch = Launch {
                grid: truth.grid,
                block: truth.block,
                cluster: truth.cluster,
                shared: truth.dynamic + SYSTEM_SHARED,
                dynamic: truth.dynamic,
                code: truth.program,
            };
            let mut header = Header::new(&machine, &launch);
            for (bank, address, _) in &truth.banks {
                header.set_bank(*bank, *address);
            }
            let bank = truth.banks[0].1;
            header.set_place(&Place {
                grid_id: wide(at::GRID_ID),
                descriptor: truth.descriptor,
                bank,
                parameters_at: HEADER as u64,
                parameters_size: wide(at::PARAMETERS_END) - bank - HEADER as u64,
            });
            if truth.cooperative {
                workspace = Some(u64::from(word(at::GRID_WORKSPACE)) << 32 | u64::from(word(at::GRID_WORKSPACE + 4)));
                header.set_grid_workspace(workspace.unwrap());
            }
            // The recorded module calls `vprintf`: libcuda keeps 0xf0 bytes more of local memory there.
            let stack = LOCAL_WINDOW - LOCAL_OVERHEAD;
            assert!([stack, stack - 0xf0].contains(&word(at::STACK)), "{}", truth.name);
            header.put(at::STACK, word(at::STACK));
            assert_eq!(wide(UNKNOWN_ADDRESS), 0x2_0500_0000);
            header.put_address(UNKNOWN_ADDRESS, wide(UNKNOWN_ADDRESS));
            for place in (0..HEADER).step_by(4) {
                let own = u32::from_le_bytes(header.0[place..place + 4].try_into().unwrap());
                assert_eq!(own, word(place), "word {place:#x} of {}", truth.name);
            }
        }
        assert!(workspace.is_some_and(|address| address != 0));
    }
}
