//! Functions of slots: their descriptions, and the facts that pairing and filtering need.

use crate::decode::effects::apply::by_name;
use crate::event::described::{Described, WordSource, find};
use crate::event::result::{returns, returns_type};
use crate::event::{ByName, Function, Instance, Layer, RangeMoment, RunPlace};
use crate::filter::{Filter, Tests};
use crate::io::bytes::clean;
use cutap_calls::hidden::slot_named;
use cutap_calls::known::{Dir, Param, Shape, Tables, Type, TypeId};
use cutap_calls::{Role, RoleSet, blocks, hands_out, roles};
use cutap_stacks::demangle::signature;
use std::sync::Arc;

/// Makes the functions of all processes of a run.
#[derive(Debug)]
pub struct Resolver {
    /// What is known of functions.
    pub tables: &'static Tables,
    pub filter: Filter,
    all_recorded: bool,
    place: RunPlace,
    /// Functions that were made.
    functions_made: u32,
}

impl Resolver {
    pub fn new(tables: &'static Tables, filter: Filter, place: RunPlace) -> Resolver {
        Resolver { tables, filter, all_recorded: false, place, functions_made: 0 }
    }

    /// See `ReaderOptions::all_recorded`.
    pub fn with_all_recorded(self, all_recorded: bool) -> Resolver {
        Resolver { all_recorded, ..self }
    }

    /// Whether the calls of a slot that the run marks as not to be shown stay hidden.
    pub fn hides_kept_calls(&self) -> bool {
        !self.all_recorded
    }
}

/// Whether a function launches a kernel, and which argument word is the kernel's handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launch {
    /// It launches nothing, or only by calling another function that does.
    No,
    /// Its arguments have no handle: a runtime says the name, or the driver's launch in it has it.
    Reported,
    Word(usize),
}

/// A function, and what pairing needs to know of it.
#[derive(Debug, Clone)]
pub struct ResolvedFunction {
    pub function: Arc<Function>,
    pub is_shown: bool,
    /// It was recorded only for what others say of addresses: for whoever reads, its calls are not there.
    pub hidden: bool,
    pub launch: Launch,
    /// The object of a bound function, 0 for others.
    pub object: u64,
    /// Words of its records that are arguments; memory is behind them.
    pub words: usize,
    /// A kernel's parameters may be among its arguments, so that the call around it is of interest.
    pub parent: bool,
    /// Its calls make or end what arguments of other calls lead to.
    pub changes_state: bool,
    /// The terms `under:` of the filter that its calls and those inside fulfil.
    pub ancestor_bits: u64,
    /// What the filter asks of its arguments.
    pub tests: Option<Arc<Tests>>,
}

/// Shape of a function without a description.
pub(super) const UNKNOWN: Shape = Shape { ints: 6, vectors: 0, stack: 0 };

/// As `cutap_wire::names::shape` packed it.
pub(super) fn shape(packed: u16) -> Shape {
    Shape { ints: packed as u8 & 15, vectors: (packed >> 4) as u8 & 15, stack: (packed >> 8) as u8 }
}

pub(super) fn words_of(shape: Shape) -> usize {
    usize::from(shape.ints) + usize::from(shape.vectors) + usize::from(shape.stack)
}

pub(super) fn described(
    resolver: &Resolver,
    layer: Layer,
    library: &str,
    name: &[u8],
    version: Option<u32>,
    words: WordSource,
) -> Option<Described> {
    let name = str::from_utf8(name).ok()?;
    let (function, version) = find(resolver.tables, layer, library, name, version)?;
    Some(Described { function, tables: resolver.tables, version, words })
}

pub(super) fn function(
    resolver: &mut Resolver,
    layer: Layer,
    library: Arc<str>,
    name: &[u8],
    instance: Option<Arc<Instance>>,
    described: Option<Described>,
) -> Arc<Function> {
    let name = clean(name);
    let key = resolver.place.key(resolver.functions_made);
    resolver.functions_made = resolver.functions_made.wrapping_add(1);
    Arc::new(Function {
        key,
        layer,
        library,
        demangled: signature(&name).or_else(|| hidden_name(layer, &name)).map(Arc::from),
        instance,
        // The target jumps to C++ functions, so their return is not recorded.
        entry_only: name.starts_with("_Z"),
        range: None,
        by_name: by_name(&name),
        returns: described.and_then(returns_type).unwrap_or_else(|| returns(layer, &name)),
        described,
        roles: RoleSet::of(&name),
        blocks: blocks(&name),
        hands_out: hands_out(&name),
        name: name.into(),
    })
}

/// What stands for a range or a mark of this name in a domain.
pub(super) fn range(resolver: &mut Resolver, domain: Arc<str>, name: &[u8], moment: RangeMoment) -> Arc<Function> {
    let key = resolver.place.key(resolver.functions_made);
    resolver.functions_made = resolver.functions_made.wrapping_add(1);
    Arc::new(Function {
        key,
        layer: Layer::NVTX,
        library: domain,
        name: clean(name).into(),
        demangled: None,
        instance: None,
        entry_only: moment != RangeMoment::Range,
        range: Some(moment),
        returns: returns(Layer::NVTX, ""),
        by_name: ByName::default(),
        described: None,
        roles: RoleSet::default(),
        blocks: None,
        hands_out: false,
    })
}

/// A slot of a hidden table with the name that it has in `api/export-tables`.
fn hidden_name(layer: Layer, name: &str) -> Option<String> {
    let slot = Some(name).filter(|_| layer == Layer::HIDDEN).and_then(slot_named)?;
    (!slot.name.is_empty()).then(|| format!("{name}:{}", slot.name))
}

/// Whether a function launches a kernel, and where the kernel's handle is. Launches of graphs are not among them: no
/// argument of theirs names a kernel.
pub fn launch_of(function: &Function) -> Launch {
    let step = |(role, argument)| match role {
        Role::LaunchesKernel => Some(Launch::Word(argument)),
        Role::LaunchesReported => Some(Launch::Reported),
        _ => None,
    };
    if function.range.is_some() {
        return Launch::No;
    }
    roles(&function.name).find_map(step).unwrap_or(Launch::No)
}

/// Whether calls of a function make or end what arguments of other calls lead to: memory, handles, the device, the
/// driver's version.
pub fn changes_state(function: &Function) -> bool {
    let Some(described) = function.described else { return false };
    let ty = |id: TypeId| described.tables.types.get(usize::from(id)).copied();
    let writes_handle = |param: &Param| {
        let Some(Type::Pointer(to, _)) = ty(param.ty).filter(|_| param.dir != Dir::In) else { return false };
        matches!(ty(to), Some(Type::Handle(_)))
    };
    !described.function.effects.is_empty()
        || function.by_name != ByName::default()
        || described.function.params.iter().any(writes_handle)
        || function.roles.has(Role::DriverVersion)
}
