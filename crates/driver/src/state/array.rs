//! Arrays, textures and surfaces.

use super::handle::Handle;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct ArrayState {
    pub arrays: BTreeMap<Handle, Array>,
    /// The array of each level.
    pub mipmaps: BTreeMap<Handle, Vec<Handle>>,
    pub textures: BTreeMap<Handle, TextureObject>,
    pub references: BTreeMap<Handle, TextureReference>,
}

/// An array of texels, stored row by row.
#[derive(Clone, Copy)]
pub struct Array {
    pub context: Handle,
    pub address: u64,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
    /// Bytes of one texel.
    pub texel: u64,
}

/// A texture or surface object: CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC and CUDA_RESOURCE_VIEW_DESC as bytes.
pub struct TextureObject {
    pub resource: [u64; 18],
    pub sampling: Option<[u64; 13]>,
    pub view: Option<[u64; 14]>,
}

/// A texture reference: only its settings.
#[derive(Default)]
pub struct TextureReference {
    pub bias: f32,
    pub least: f32,
    pub most: f32,
    pub flags: u32,
}
