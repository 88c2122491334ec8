//! Proofs and measurements on a real GPU: `hopper CUBIN TEST...`. `tests/gpu/cudest.sh` runs all of them.

mod bench;
mod check;
mod cooperative;
mod faults;
mod lanes;
mod launches;
mod memory;
mod requests;

use cutap_cudest::{Context, Error, Gpu, Kernel, Memory, Mode, Module, Options, Order, Placement, Stream};
use std::time::Instant;

/// A context with the test kernels.
pub struct Setup {
    pub context: Context,
    pub module: Module,
    pub stream: Stream,
}

pub type Answer = Result<String, Box<dyn std::error::Error>>;

impl Setup {
    pub fn new(cubin: &[u8], options: Options) -> Result<Self, Error> {
        let context = Gpu::new(0).context_with(options)?;
        let module = context.load(cubin)?;
        let stream = context.stream()?;
        Ok(Self { context, module, stream })
    }

    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        self.module.kernel(name)
    }
}

/// The parameters of a kernel, each at its offset.
pub fn pack(kernel: &Kernel, words: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; kernel.entry().parameters_size];
    for (parameter, word) in kernel.parameters().iter().zip(words) {
        // A larger parameter is filled by the caller.
        let size = parameter.size.min(8);
        bytes[parameter.offset..parameter.offset + size].copy_from_slice(&word.to_le_bytes()[..size]);
    }
    bytes
}

/// The words of a memory that the CPU reaches.
///
/// # Safety
/// No work uses it meanwhile.
#[allow(clippy::mut_from_ref)]
pub unsafe fn words(memory: &Memory) -> &mut [u32] {
    let host = memory.host().expect("memory that the CPU reaches");
    // SAFETY: it has these words; the caller answers for the rest.
    unsafe { std::slice::from_raw_parts_mut(host.as_ptr().cast(), memory.size() as usize / 4) }
}

/// Numbers that are always the same.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    pub fn below(&mut self, most: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(most)) >> 32) as u32
    }
}

/// A test by its name: `NAME[=NUMBER][@OPTION...]`. The option `uvm` selects mode B, and `idle` order by
/// idle. With `keep` channels that wait do not yield. With `inline` methods in system memory carry launch descriptors,
/// with `near` methods in video memory.
fn run(name: &str, cubin: &[u8]) -> Answer {
    let mut words = name.split('@');
    let (name, argument) = words.next().map_or((name, ""), |name| name.split_once('=').unwrap_or((name, "")));
    let number = argument.parse::<u64>().unwrap_or(0);
    let mut options = Options::default();
    for word in words {
        match word {
            "uvm" => options.mode = Some(Mode::Uvm),
            "idle" => options.order = Order::Idle,
            "inline" => options.placement = Placement::Inline,
            "near" => options.placement = Placement::InlineVideo,
            "keep" => options.yield_on_wait = false,
            _ => return Err(format!("no option {word}").into()),
        }
    }
    // A context whose work does not end would wait in its drop: the process ends instead.
    let setup = || Setup::new(cubin, options).map(|setup| &*Box::leak(Box::new(setup)));
    match name {
        "facts" => Ok(format!("{:#?}", Gpu::new(0).facts()?)),
        // For a comparison with libcuda's: `NUMBER=VALUE`.
        "attributes" => {
            let all = Gpu::new(0).facts()?.attributes().into_iter();
            Ok(all.map(|(id, value)| format!("{id}={} ", value.map_or("?".into(), |v| v.to_string()))).collect())
        }
        "mode" => {
            let s = setup()?;
            Ok(format!("{}; {} ioctls", s.context.mode(), s.context.ioctls()))
        }
        "kernels" => check::kernels(setup()?),
        "shapes" => check::shapes(setup()?),
        "globals" => check::globals(setup()?),
        "large" => check::large(setup()?),
        "local" => check::local(setup()?),
        "chain" => check::chain(setup()?, 2000),
        "random" => check::random(setup()?, number.max(1000) as usize),
        "copies" => memory::copies(setup()?),
        "within" => memory::within(setup()?),
        "fills" => memory::fills(setup()?),
        "pageable" => memory::pageable(setup()?),
        "memory" => memory::memory(setup()?),
        "mapping" => memory::mapping(setup()?),
        "use" => memory::used(cubin, options),
        "events" => check::events(setup()?),
        "gate" => bench::gate(setup()?),
        "lanes" => lanes::lanes(setup()?),
        "matmul" => check::matmul(setup()?),
        "code" => check::code(setup()?, argument),
        "requests" => requests::requests(cubin, options),
        "cooperative" => cooperative::cooperative(setup()?, argument),
        "spin" => check::spin(setup()?, number),
        "overlap" => bench::overlap(setup()?),
        "launch" => bench::launch(setup()?),
        "streams" => bench::streams(setup()?),
        "bandwidth" => bench::bandwidth(setup()?),
        "contexts" => check::contexts(cubin, options),
        "fork" => faults::fork(setup()?),
        "pointer" => faults::pointer(cubin, options),
        "trap" => faults::trap(cubin, options),
        "bank" => launches::bank(setup()?),
        "clusters" => launches::clusters(setup()?),
        "exchange" => launches::exchange(setup()?),
        "refused" => launches::refused(setup()?),
        "tensor" => launches::tensor(setup()?),
        "calls" => launches::calls(setup()?),
        "reached" => launches::reached(cubin, options),
        "constants" => launches::constants(setup()?),
        "fences" => launches::fences(setup()?),
        "rate" => launches::rate(setup()?),
        _ => Err(format!("no test {name}").into()),
    }
}

fn refuse(why: &str) -> ! {
    eprintln!("hopper: {why}");
    std::process::exit(2)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { refuse("usage: hopper CUBIN TEST...") };
    let cubin = std::fs::read(&path).unwrap_or_else(|why| refuse(&format!("cannot read the cubin {path}: {why}")));
    let mut failed = 0;
    for name in arguments {
        let start = Instant::now();
        let answer = run(&name, &cubin);
        let time = start.elapsed().as_secs_f64() * 1e3;
        match answer {
            Ok(text) => println!("ok   {name:<16} {time:9.1} ms  {text}"),
            Err(error) => {
                failed += 1;
                println!("FAIL {name:<16} {time:9.1} ms  {error}");
            }
        }
    }
    std::process::exit(i32::from(failed > 0));
}
