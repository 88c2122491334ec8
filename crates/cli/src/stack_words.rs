//! The words about stacks, of trace, record and env.

use clap::Args;
use cutap_collect::{StackSize, Stacks};

/// What `--stack` without a filter stands for; no filter can be this.
const OUTERMOST: &str = "<outermost>";

/// Of which calls the caller's stack is kept.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// Keep the caller's stack of these calls too, as in -e by names, layers and libraries; without FILTER of each call that
    /// the program itself makes
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = OUTERMOST)]
    stack: Option<String>,
    /// How much of each stack is copied, 512 to 64K
    #[arg(long, value_name = "SIZE", requires = "stack", default_value = "8K")]
    stack_size: StackSize,
}

impl StackArgs {
    /// What they mean.
    pub fn stacks(self) -> Option<Stacks> {
        let size = self.stack_size;
        self.stack.map(|text| Stacks { filter: Some(text).filter(|t| t != OUTERMOST), size })
    }
}
