//! The chips: classes, descriptor, limits. A chip that has never run is refused, with its name.

use crate::encode::format::{Format, V3, V4, V5};

/// Classes of objects that drive a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Classes {
    pub channel: u32,
    pub compute: u32,
    pub copy: u32,
    pub usermode: u32,
}

/// A kind of GPU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chip {
    pub name: &'static str,
    /// Compute capability, without the dot.
    pub sm: u32,
    pub classes: Classes,
    pub format: &'static Format,
    /// Most shared memory of a block, without the system's KiB.
    pub most_shared: u32,
    /// Whether this crate has run kernels on one.
    pub has_run: bool,
}

const fn classes(channel: u32, compute: u32, copy: u32, usermode: u32) -> Classes {
    Classes { channel, compute, copy, usermode }
}

/// Each kind, by its compute class.
pub(crate) const CHIPS: &[Chip] = &[
    Chip {
        name: "Ampere (GA100)",
        sm: 80,
        classes: classes(0xc56f, 0xc6c0, 0xc6b5, 0xc561),
        format: &V3,
        most_shared: 163 << 10,
        has_run: false,
    },
    Chip {
        name: "Ampere (GA10x)",
        sm: 86,
        classes: classes(0xc56f, 0xc7c0, 0xc7b5, 0xc561),
        format: &V3,
        most_shared: 99 << 10,
        has_run: false,
    },
    Chip {
        name: "Ada",
        sm: 89,
        classes: classes(0xc56f, 0xc9c0, 0xc7b5, 0xc561),
        format: &V3,
        most_shared: 99 << 10,
        has_run: false,
    },
    Chip {
        name: "Hopper",
        sm: 90,
        classes: classes(0xc86f, 0xcbc0, 0xc8b5, 0xc661),
        format: &V4,
        most_shared: 227 << 10,
        has_run: true,
    },
    Chip {
        name: "Blackwell (GB10x)",
        sm: 100,
        classes: classes(0xc96f, 0xcdc0, 0xc9b5, 0xc661),
        format: &V5,
        most_shared: 227 << 10,
        has_run: false,
    },
    Chip {
        name: "Blackwell (GB20x)",
        sm: 120,
        classes: classes(0xca6f, 0xcec0, 0xcab5, 0xc661),
        format: &V5,
        most_shared: 99 << 10,
        has_run: false,
    },
];

impl Chip {
    /// Shared memory of an SM.
    pub fn shared_of_sm(&self) -> u32 {
        self.format.carve_outs.last().map_or(0, |kib| kib << 10).min(self.most_shared + 1024)
    }

    /// The chip that has these classes.
    pub fn of(has: &[u32]) -> Option<&'static Self> {
        CHIPS.iter().find(|chip| has.contains(&chip.classes.compute))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chip_a_compute_class() {
        for chip in CHIPS {
            let Classes { channel, compute, copy, usermode } = chip.classes;
            assert_eq!(Chip::of(&[channel, compute, copy, usermode]), Some(chip));
            assert!(chip.most_shared + 1024 <= chip.format.carve_outs.last().unwrap() << 10, "{}", chip.name);
        }
        assert_eq!(CHIPS.iter().filter(|chip| chip.has_run).map(|chip| chip.sm).collect::<Vec<_>>(), [90]);
    }
}
