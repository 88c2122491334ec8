//! The driver and all its GPUs at a glance, with what is missing. It opens no channel and needs no privilege.

use crate::base::error::{Error, Result};
use crate::kernel_driver::facts::{self, Driver, Facts, driver};
use crate::kernel_driver::link::{Card, FixedFacts, Link};
use crate::kernel_driver::nodes::{Kernel, Linux, Node};
use cutap_rm::Fit;
use std::sync::Arc;

/// What a look at the machine found.
#[derive(Debug)]
pub struct Survey {
    /// The driver.
    pub driver: Driver,
    /// Each card of the driver's list, with its facts or why there are none.
    pub gpus: Vec<(Card, Result<Facts>)>,
    /// What is missing for a program that wants to use a GPU, one sentence each.
    pub missing: Vec<String>,
}

impl Survey {
    /// Looks at this machine.
    ///
    /// # Errors
    /// There is no driver, no permission for its control node, or no GPU.
    pub fn new() -> Result<Self> {
        Self::with_kernel(&(Arc::new(Linux) as Arc<dyn Kernel>))
    }

    /// Looks through another way to the kernel driver.
    ///
    /// # Errors
    /// As [`new`](Survey::new).
    pub fn with_kernel(kernel: &Arc<dyn Kernel>) -> Result<Self> {
        let driver = driver(kernel)?;
        if driver.cards.is_empty() {
            return Err(Error::NoGpu);
        }
        let facts = |card: &Card| facts::read(&Link::to_card(kernel, card, &FixedFacts::default())?);
        let gpus: Vec<_> = driver.cards.iter().map(|card| (card.clone(), facts(card))).collect();
        let mut missing = Vec::new();
        if driver.fit != Fit::Exact {
            let branch = if driver.fit == Fit::SameBranch { "of its branch" } else { "of another branch" };
            missing.push(format!(
                "no exact tables for driver {}: those of {} {branch} are used",
                driver.version, driver.tables
            ));
        }
        for (card, facts) in &gpus {
            if let Err(error) = facts {
                missing.push(format!("{}: {error}", card.pci_address()));
            }
        }
        match kernel.open(Node::Uvm) {
            Ok(fd) => kernel.close(fd),
            Err(why) => {
                missing.push(format!("{}: {why}; libcuda needs it, cudest does not", Node::Uvm.path().display()))
            }
        }
        Ok(Self { driver, gpus, missing })
    }
}
