//! What a launch gives to the GPU: constant bank 0, clusters, functions that libcuda would have.

use crate::model::{Launched, Model, Running};
use cutap_cudest::{Context, Error, Gpu, LaunchAttributes, Memory, Options, Placement, Shape, Stream};
use std::sync::Arc;

const CUBIN: &[u8] = include_bytes!("../cubins/launches-12.9-sm_90.cubin");
const RELOCATABLE: &[u8] = include_bytes!("../cubins/relocatable-12.9-sm_90.cubin");
const WITH_SHARED: &[u8] = include_bytes!("../cubins/relocatable_shared-12.9-sm_90.cubin");
type Sides = (u32, u32, u32);

struct Setup {
    stream: Stream,
    memory: Memory,
    context: Context,
    model: Arc<Model>,
    _running: Running,
}

impl Setup {
    fn new(options: Options) -> Self {
        let (model, running) = Model::hopper().start();
        let context = Gpu::with_kernel(model.clone(), 0).context_with(options).unwrap();
        let (stream, memory) = (context.stream().unwrap(), context.pinned(4096).unwrap());
        Self { stream, memory, context, model, _running: running }
    }

    fn launch(&self, name: &str, shape: &Shape, attributes: &LaunchAttributes) -> Result<Launched, Error> {
        let kernel = self.context.load(CUBIN)?.kernel(name)?;
        let mut parameters = vec![0; kernel.entry().parameters_size];
        if let Some(first) = kernel.parameters().first() {
            parameters[first.offset..first.offset + 8].copy_from_slice(&self.memory.address().to_le_bytes());
        }
        // SAFETY: kernels of the model write nothing here.
        unsafe { self.stream.launch_with(&kernel, shape, attributes, &parameters)? };
        self.stream.synchronize()?;
        Ok(self.model.launches().pop().unwrap())
    }
}

impl Launched {
    fn word(&self, at: usize) -> u32 {
        self.bank[at / 4]
    }

    fn wide(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32
    }

    /// Bytes of a constant bank that the descriptor says.
    fn bank_bytes(&self) -> u32 {
        (self.qmd[49] >> 19) * 16
    }
}

fn in_clusters(sides: Sides) -> LaunchAttributes {
    LaunchAttributes { cluster: Some(sides), cooperative: false }
}

/// A kernel without parameters has the driver's words, wherever the bank is written.
#[test]
fn a_kernel_without_parameters() {
    for placement in [Placement::Mapped, Placement::Inline, Placement::InlineVideo] {
        let setup = Setup::new(Options { placement, ..Options::default() });
        let launched = setup.launch("noparam", &Shape::linear(5, 96), &LaunchAttributes::default()).unwrap();
        assert_eq!((launched.word(0), launched.word(0xc), launched.bank_bytes()), (96, 5, 0x300));
        assert_eq!((launched.wide(0x38), launched.wide(0xc0)), (launched.descriptor, launched.bank_address));
        let end = launched.bank_address + 0x210;
        assert_eq!((launched.wide(0x198), launched.wide(0x1a0)), (end, end));
        assert_ne!(launched.wide(0x118), 0);
        // It has a constant bank 4, whose address is in bank 0 and in the descriptor.
        let bank = (u64::from(launched.qmd[56]) | u64::from(launched.qmd[57] & 0x7ffff) << 32) << 6;
        assert_eq!(launched.wide(0xd8), bank);
        let next = setup.launch("noparam", &Shape::linear(5, 96), &LaunchAttributes::default()).unwrap();
        assert_ne!(launched.wide(0x30), next.wide(0x30), "numbers of launches");
    }
}

#[test]
fn dynamic_shared_memory() {
    let setup = Setup::new(Options::default());
    let shape = Shape { shared: 100_000, ..Shape::linear(1, 32) };
    let launched = setup.launch("dynamic", &shape, &LaunchAttributes::default()).unwrap();
    assert_eq!([0x2c, 0x114, 0x13c].map(|at| launched.word(at)), [100_000, 0x400, 100_000 + 0x400]);
    assert_eq!(launched.wide(0x1a0) - launched.wide(0x198), 8);
}

#[test]
fn clusters() {
    let setup = Setup::new(Options::default());
    let shape = Shape { grid: (16, 4, 6), block: (64, 1, 1), shared: 0 };
    let kind = |launched: &Launched| launched.qmd[0] >> 23 & 7;
    let sides =
        |launched: &Launched| (launched.qmd[67] & 0x3f, launched.qmd[67] >> 8 & 0x3f, launched.qmd[67] >> 16 & 0x3f);
    let grid = |launched: &Launched| (launched.qmd[32], launched.qmd[33], launched.qmd[34]);
    let plain = setup.launch("clusters", &shape, &LaunchAttributes::default()).unwrap();
    assert_eq!((kind(&plain), sides(&plain), grid(&plain), plain.word(0x140)), (2, (0, 0, 0), (16, 4, 6), 0));
    for (name, attributes, wanted) in [
        ("clusters", in_clusters((1, 1, 1)), (1, 1, 1)),
        ("clusters", in_clusters((8, 1, 1)), (8, 1, 1)),
        ("clusters", in_clusters((2, 2, 3)), (2, 2, 3)),
        ("clusters", in_clusters((16, 1, 1)), (16, 1, 1)),
        ("fixed", LaunchAttributes::default(), (2, 1, 1)),
        ("fixed", in_clusters((2, 1, 1)), (2, 1, 1)),
    ] {
        let launched = setup.launch(name, &shape, &attributes).unwrap();
        let clusters = (16 / wanted.0, 4 / wanted.1, 6 / wanted.2);
        assert_eq!((kind(&launched), sides(&launched), grid(&launched)), (3, wanted, clusters), "{name}");
        assert_eq!([0x15c, 0x160, 0x164].map(|at| launched.word(at)), <[u32; 3]>::from(clusters));
        assert_eq!((launched.word(0x140), launched.word(0x188)), (1, wanted.0 * wanted.1 * wanted.2));
        assert_eq!([0xc, 0x10, 0x14].map(|at| launched.word(at)), [16, 4, 6], "the grid in blocks");
    }
}

#[test]
fn clusters_that_do_not_fit() {
    let setup = Setup::new(Options::default());
    let refused = |name: &str, blocks: u32, attributes: LaunchAttributes| {
        setup.launch(name, &Shape::linear(blocks, 32), &attributes).map(drop).unwrap_err().to_string()
    };
    let text = refused("clusters", 7, in_clusters((2, 1, 1)));
    assert!(text.ends_with("a grid of (7, 1, 1) blocks is not a whole number of clusters of (2, 1, 1)"), "{text}");
    let text = refused("clusters", 32, in_clusters((32, 1, 1)));
    assert!(text.ends_with("a cluster of (32, 1, 1) blocks: 1 to 16 run together"), "{text}");
    let text = refused("fixed", 8, in_clusters((4, 1, 1)));
    assert!(text.ends_with("a cluster of (4, 1, 1) blocks: it was compiled for (2, 1, 1)"), "{text}");
    let together = LaunchAttributes { cooperative: true, ..in_clusters((2, 1, 1)) };
    assert!(refused("clusters", 8, together).ends_with("a cooperative grid of clusters is not supported by cudest"));
    assert!(refused("clusters", 8, in_clusters((0, 1, 1))).contains("a cluster of (0, 1, 1) blocks"));
}

/// A kernel that names functions of libcuda loads and runs. A fault names the kernel that ran.
#[test]
fn missing_functions_and_the_name_of_a_kernel() {
    let setup = Setup::new(Options::default());
    let module = setup.context.load(CUBIN).unwrap();
    let mut missing = module.missing().to_vec();
    missing.sort();
    assert_eq!(missing, ["__assertfail", "malloc", "vprintf"]);
    setup.launch("calls", &Shape::linear(1, 32), &LaunchAttributes::default()).unwrap();
    let gate = setup.context.host_fence().unwrap();
    setup.stream.wait_for(gate.fence());
    let kernel = module.kernel("calls").unwrap();
    // SAFETY: the model's kernel writes nothing here.
    unsafe { setup.stream.launch(&kernel, &Shape::linear(1, 32), &[0; 12]).unwrap() };
    setup.model.fault(31);
    let Err(Error::Lost(loss)) = setup.stream.synchronize() else { panic!("no loss") };
    assert_eq!(loss.kernel.as_deref(), Some("calls"));
    assert!(loss.to_string().ends_with("on the compute engine; kernel calls"), "{loss}");
}

/// Constants of relocatable code have their places. Shared memory gets one from a linker.
#[test]
fn relocatable_code() {
    let setup = Setup::new(Options::default());
    assert_eq!(setup.context.load(RELOCATABLE).unwrap().kernel("constants").unwrap().parameters().len(), 1);
    let error = setup.context.load(WITH_SHARED).map(drop).unwrap_err().to_string();
    let reason = "shared memory of relocatable code has no place: link the cubin with nvlink or nvJitLink";
    assert_eq!(error, format!("the cubin is damaged: {reason}"));
}
