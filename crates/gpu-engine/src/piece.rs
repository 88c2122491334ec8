//! Pieces of video memory at addresses that the front has reserved in the process.

use super::shared::Shared;
use cutap_cudest::{Backing, Mapping};
use cutap_driver::abi::{Answer, Fault};
use cutap_driver::engine::limited;
use cutap_driver::engine::{Access, Piece, View, refused};
use std::sync::Arc;

pub struct GpuPiece {
    pub shared: Arc<Shared>,
    pub backing: Backing,
}

impl Piece for GpuPiece {
    fn view(&self, offset: u64, size: u64, address: u64) -> Answer<Box<dyn View>> {
        let (shared, backing) = (Arc::clone(&self.shared), self.backing.clone());
        Ok(Box::new(GpuView { shared, backing, offset, size, address, mapping: None }))
    }

    fn export(&self) -> Answer<i32> {
        refused::on_gpus(limited::MEM_EXPORT_TO_SHAREABLE_HANDLE)?;
        Err(Fault::NOT_SUPPORTED)
    }
}

/// The GPU sees it from the first access that is allowed. Page tables do not keep it from writing where only reading is
/// allowed.
struct GpuView {
    shared: Arc<Shared>,
    backing: Backing,
    offset: u64,
    size: u64,
    address: u64,
    mapping: Option<Mapping>,
}

impl View for GpuView {
    fn allow(&mut self, access: Access) -> Answer {
        if access == Access::Nothing {
            self.end();
        } else if self.mapping.is_none() {
            // SAFETY: the front has reserved these addresses, keeps them while the view exists, and has no other view
            // there.
            let mapping = unsafe { self.shared.context.map_at(self.address, &self.backing, self.offset, self.size) };
            self.mapping = Some(mapping.map_err(|why| self.shared.fault(&why, "memory at a chosen address"))?);
        }
        Ok(())
    }
}

impl GpuView {
    fn end(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            mapping.end();
        }
    }
}

impl Drop for GpuView {
    fn drop(&mut self) {
        self.end();
    }
}
