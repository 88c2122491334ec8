//! `tidy`: the rules that the compiler does not know. Each rule collects its complaints, so that one run shows all.

mod cycles;
mod everyday_words;
mod folders;
mod function_names;
mod imports;
mod layers;
mod links;
mod phrases;
mod preload;
mod processor;
mod prose;
mod ratchet;
mod reference;
mod sources;
mod text;

use anyhow::{Result, ensure};
use std::path::Path;

/// Lowers the numbers of allowed findings to the present ones.
pub(crate) fn shrink(root: &Path) -> Result<()> {
    prose::shrink(root)?;
    everyday_words::shrink(root)
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    layers::check(root, &mut wrong)?;
    sources::check(root, &mut wrong)?;
    cycles::check(root, &mut wrong)?;
    folders::check(root, &mut wrong)?;
    processor::check(root, &mut wrong)?;
    function_names::check(root, &mut wrong)?;
    prose::check(root, &mut wrong)?;
    everyday_words::check(root, &mut wrong)?;
    links::check(root, &mut wrong)?;
    reference::check(root, &mut wrong)?;
    match crate::build::preload(root) {
        Ok(path) => preload::check(&path, &mut wrong)?,
        Err(error) => wrong.push(format!("the release preload is not there to look at: {error:#}")),
    }
    for line in &wrong {
        eprintln!("tidy: {line}");
    }
    ensure!(wrong.is_empty(), "tidy: {} to be put right", wrong.len());
    println!("tidy: dependencies, sources and the release preload are as they should be");
    Ok(())
}
