//! Flags for rules that change calls.

use crate::heading;
use clap::Args;
use cutap_collect::{Error, FunctionName, InjectRule, Injection, Result, rules_of_file};
use std::path::PathBuf;

/// Rules that change calls.
#[derive(Debug, Args)]
pub struct InjectArgs {
    /// Make calls fail, wait or change: 'cudaMalloc:error=2' (help inject)
    #[arg(long, value_name = "RULE", help_heading = heading::PROGRAM)]
    inject: Vec<String>,
    /// The same from a file, as a list with comments; the JSON of faultinj too
    #[arg(long, value_name = "FILE", hide = true, help_heading = heading::PROGRAM)]
    rules: Vec<PathBuf>,
    /// Stop the process before these calls, for a debugger (SIGSTOP)
    #[arg(long, value_name = "FILTER", hide = true, help_heading = heading::PROGRAM)]
    stop_at: Vec<String>,
    /// Functions of which cutap ctl PID rules may set rules later
    #[arg(long, value_name = "FILTER", hide = true, help_heading = heading::PROGRAM)]
    arm: Vec<String>,
    /// Other chances of rules, which are the same for each run with one number
    #[arg(long, value_name = "N", hide = true, help_heading = heading::PROGRAM)]
    seed: Option<u64>,
    /// Count call sites, and write them here
    #[arg(long, value_name = "FILE", hide = true)]
    call_sites: Option<PathBuf>,
}

impl InjectArgs {
    /// What is done to calls, or what is wrong with a rule. `more`: those of `-e inject=`.
    pub fn injection(self, more: &[String]) -> Result<Injection> {
        let mut rules = Vec::new();
        for file in &self.rules {
            rules.extend(rules_of_file(file)?);
        }
        for text in self.inject.iter().chain(more) {
            rules.push(InjectRule::parse(text)?);
        }
        for filter in &self.stop_at {
            rules.push(InjectRule::stop_at(filter)?);
        }
        let names = self.arm.iter().flat_map(|names| names.split(',')).map(str::trim);
        let armed =
            names.map(|name| FunctionName::parse(name).map_err(|why| Error::own(format!("--arm {name}: {why}"))));
        let armed = armed.collect::<Result<_>>()?;
        Ok(Injection { rules, armed, seed: self.seed.unwrap_or(1), sites: self.call_sites })
    }
}
