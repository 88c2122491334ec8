//! Refuses conditions that no call can fulfil: a parameter that no matching function has, a missing field, a number
//! compared with a word, an unknown enum name. The message has the nearest name that exists.

use super::comparison::{Comparison, KERNEL};
use super::parse::Filter;
use super::refusal::{FilterError, did_you_mean_text, nearest, suggestion_or_fields};
use cutap_calls::filter::is_shown;
use cutap_calls::known::{self, Family, Function, Rule, Tables, Type, TypeId};
use cutap_calls::{Layer, glob, plain};

/// The largest number of parameters in a message.
const FEW_NAMES: usize = 8;
/// Types lead to types; damaged tables could lead around.
const DEEPEST: u32 = 16;

/// What stands at the end of a path.
enum PathEnd {
    /// Whatever the call says.
    Any,
    Number,
    /// A number that is never negative.
    Unsigned,
    Text,
    /// A number, or one of these.
    Names(&'static str, Vec<&'static str>),
}

/// A step of a path that leads nowhere, and those that would have led on.
struct MissingStep {
    step: String,
    near: Vec<&'static str>,
}

impl Filter {
    /// Refuses what no call of the functions can fulfil. Functions without a description are left to the
    /// trace.
    pub(super) fn check_parameters(&self, tables: &'static Tables) -> Result<(), FilterError> {
        for term in &self.arguments {
            let functions: Vec<&Function> =
                tables.families.iter().flat_map(|f| picked_functions(f, &term.rules)).collect();
            for comparison in &term.comparisons {
                check(tables, &functions, comparison, &term.text)?;
            }
        }
        Ok(())
    }
}

impl Filter {
    /// Whether a condition asks for a kernel's parameters of a runtime's launch: of those the runtime has only the
    /// address.
    pub(super) fn asks_of_launches(&self, tables: &'static Tables) -> bool {
        let runtime = || tables.families.iter().filter(|f| f.name == "runtime");
        self.arguments.iter().any(|term| {
            let has_field = |name: &str| term.comparisons.iter().any(|c| c.path.len() > 1 && c.path[0] == name);
            let mut params = runtime().flat_map(|f| picked_functions(f, &term.rules)).flat_map(|f| f.params);
            params.any(|p| matches!(p.rule, Rule::KernelParams(..)) && has_field(p.name))
        })
    }
}

/// Functions of a family that rules pick.
fn picked_functions(family: &'static Family, rules: &str) -> impl Iterator<Item = &'static Function> {
    let layer = Layer::of_family(family.name);
    // Programs and other libraries have copies of the runtime; the names of the driver's functions are its own.
    let rules: String = match layer == Layer::LIBRARY {
        true => rules.to_owned(),
        false => rules.lines().map(|l| any_library(l) + "\n").collect(),
    };
    let sonames: Vec<String> = family.sonames.iter().map(|s| s.replace('*', "1")).collect();
    let is_picked = move |f: &&Function| {
        let of = |soname: &str| is_shown(rules.as_bytes(), layer.number(), soname.as_bytes(), f.name.as_bytes());
        sonames.iter().any(|s| of(s)) || sonames.is_empty() && of("?")
    };
    family.functions.iter().filter(is_picked)
}

/// A rule for this name in any library: which one is known when it is loaded.
fn any_library(rule: &str) -> String {
    match (rule.split_once(' '), rule.rsplit_once(' ')) {
        (Some((sign, _)), Some((_, name))) => format!("{sign} * {name}"),
        _ => rule.to_owned(),
    }
}

fn check(
    tables: &'static Tables,
    functions: &[&'static Function],
    comparison: &Comparison,
    term: &str,
) -> Result<(), FilterError> {
    let Some((name, fields)) = comparison.path.split_first() else { return Ok(()) };
    if functions.is_empty() || name == KERNEL {
        return Ok(());
    }
    let params: Vec<_> = functions.iter().flat_map(|f| f.params).filter(|p| p.name == name).collect();
    if params.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for param in functions.iter().flat_map(|f| f.params).filter(|p| !p.name.is_empty()) {
            if !names.contains(&param.name) {
                names.push(param.name);
            }
        }
        if let Some(hint) = suggest_path(tables, functions, name) {
            return Err(FilterError(format!("no function of {term} has a parameter {name}{hint}")));
        }
        let it = functions.iter().all(|f| functions.first().is_some_and(|first| plain(f.name) == plain(first.name)));
        let has = match names.len() {
            1..=FEW_NAMES => format!(" ({} {})", if it { "it has" } else { "they have" }, names.join(", ")),
            _ => String::new(),
        };
        let suggestion = did_you_mean_text(name, &names);
        return Err(FilterError(format!("no function of {term} has a parameter {name}{suggestion}{has}")));
    }
    let mut refused = None;
    // One function that could do it is enough.
    for param in params {
        match resolve_path(tables, param.ty, param.rule, fields, DEEPEST) {
            Err(MissingStep { step, near }) => {
                let of = comparison.path.join(".");
                let of = of.split(&format!(".{step}")).next().unwrap_or(name).to_owned();
                refused = Some(format!("{of} in {term} has no field {step}{}", suggestion_or_fields(&step, &near)));
            }
            Ok(end) => match mismatch(&end, comparison) {
                Some(why) => refused = Some(format!("{} in {term} {why}", comparison.path.join("."))),
                None => return Ok(()),
            },
        }
    }
    refused.map_or(Ok(()), |why| Err(FilterError(why)))
}

/// What may have been meant by a name that is no parameter's: a field inside of one, or a kernel's own parameter.
fn suggest_path(tables: &'static Tables, functions: &[&'static Function], name: &str) -> Option<String> {
    let params = || functions.iter().flat_map(|f| f.params);
    let mut paths: Vec<String> = Vec::new();
    for path in params().filter_map(|p| Some(format!("{}.{}", p.name, path_to(tables, p.ty, name, INSIDE)?))) {
        if !paths.contains(&path) && paths.len() < 3 {
            paths.push(path);
        }
    }
    if !paths.is_empty() {
        return Some(format!(", but there is a field of this name: write it as {}", paths.join(" or ")));
    }
    let list = params().find(|p| matches!(p.rule, Rule::KernelParams(..)))?.name;
    // A short name is near to many; a longer one that is near to a parameter's is a slip.
    let slip = name.len() > 2 && params().any(|p| !nearest(name, &[p.name]).is_empty());
    (!slip).then(|| format!("; a kernel's own parameter is written as {list}.{name}, or {list}.0 by its place"))
}

/// Structs inside each other that are searched for a field.
const INSIDE: u32 = 3;

/// The way to a field of this name, from a type on.
fn path_to(tables: &'static Tables, ty: TypeId, name: &str, levels: u32) -> Option<String> {
    let levels = levels.checked_sub(1)?;
    let ty = match tables.types.get(usize::from(ty))? {
        Type::Pointer(to, _) => tables.types.get(usize::from(*to))?,
        ty => ty,
    };
    let (Type::Struct(first) | Type::Union(first)) = ty else { return None };
    if field(tables, *first, name, &mut Vec::new(), DEEPEST).is_some() {
        return Some(name.to_owned());
    }
    let rows = tables.structs.get(usize::from(*first)..)?;
    let of = rows.first()?.name;
    let mut fields = rows.iter().take_while(|s| s.name == of).flat_map(|s| s.fields);
    fields.find_map(|f| {
        let path = path_to(tables, f.ty, name, levels)?;
        Some(if is_nameless(f.name) { path } else { format!("{}.{path}", f.name) })
    })
}

/// Why nothing of this kind can fulfil the comparison.
fn mismatch(end: &PathEnd, comparison: &Comparison) -> Option<String> {
    let (number, word) = comparison.operand();
    if number && word.starts_with('-') && matches!(end, PathEnd::Unsigned) {
        return Some(format!("is never below 0, so {word} compares with nothing; all bits set are {:#x}", u64::MAX));
    }
    if number || matches!(word, "NULL" | "true" | "false") {
        return None;
    }
    match end {
        PathEnd::Any | PathEnd::Text => None,
        PathEnd::Number | PathEnd::Unsigned => {
            Some(format!("is a number, and {word} is none; write it as 4096, 0x1000 or 1GiB"))
        }
        PathEnd::Names(..) if word == "*" => None,
        PathEnd::Names(of, names) if !names.iter().any(|n| glob(word.as_bytes(), n.as_bytes())) => {
            Some(format!("is a {of}, and {word} is none of its names{}", suggestion_or_fields(word, names)))
        }
        PathEnd::Names(..) => None,
    }
}

/// Where a path leads from a type.
fn resolve_path(
    tables: &'static Tables,
    ty: TypeId,
    rule: Rule,
    path: &[String],
    levels: u32,
) -> Result<PathEnd, MissingStep> {
    let missing = |near| MissingStep { step: path.first().cloned().unwrap_or_default(), near };
    let none = |end: PathEnd| if path.is_empty() { Ok(end) } else { Err(missing(Vec::new())) };
    let Some(levels) = levels.checked_sub(1) else { return Ok(PathEnd::Any) };
    let named = |n: u16| tables.enums.get(usize::from(n));
    match tables.types.get(usize::from(ty)).copied().unwrap_or(Type::Void) {
        Type::Pointer(to, _) => match (rule, path.split_first()) {
            (Rule::Text | Rule::TextOf(_), _) => none(PathEnd::Text),
            (Rule::Array(_) | Rule::Texts(_), Some((n, rest))) if n.parse::<usize>().is_ok() => match rule {
                Rule::Texts(_) if rest.is_empty() => Ok(PathEnd::Text),
                _ => resolve_path(tables, to, Rule::One, rest, levels),
            },
            // The call says what is there.
            (Rule::Array(_), Some(_)) => Err(missing(Vec::new())),
            (Rule::Memory(_) | Rule::Host(_) | Rule::Either(_), _) => none(PathEnd::Unsigned),
            (Rule::From(..) | Rule::To(..) | Rule::Opaque, _) => none(PathEnd::Unsigned),
            (Rule::One, _) => match tables.types.get(usize::from(to)) {
                Some(Type::Char) => none(PathEnd::Text),
                Some(Type::Void) => none(PathEnd::Unsigned),
                _ => resolve_path(tables, to, Rule::One, path, levels),
            },
            (Rule::Tagged(tags, ..), Some((step, _))) if step.parse::<usize>().is_err() => {
                let rows = tables.tags.get(usize::from(tags)).map_or(&[][..], |t| t.rows);
                let types = [to].into_iter().chain(rows.iter().map(|(_, ty)| *ty));
                one_of(tables, types, step, path, levels)
            }
            _ => Ok(PathEnd::Any),
        },
        Type::Struct(row) | Type::Union(row) => match path.split_first() {
            None => Ok(PathEnd::Any),
            Some((name, rest)) => {
                let mut names = Vec::new();
                let field_type = field(tables, row, name, &mut names, levels);
                let (ty, rule) = field_type.ok_or_else(|| missing(names))?;
                resolve_path(tables, ty, rule, rest, levels)
            }
        },
        Type::Array(of, _) => match (tables.types.get(usize::from(of)), path.split_first()) {
            (Some(Type::Char), _) => none(PathEnd::Text),
            (_, None) => Ok(PathEnd::Any),
            (_, Some((n, rest))) if n.parse::<usize>().is_ok() => resolve_path(tables, of, Rule::One, rest, levels),
            _ => Err(missing(Vec::new())),
        },
        Type::Enum(n) | Type::Flags(n, _) | Type::Status(n) => none(match named(n) {
            Some(of) => PathEnd::Names(of.name, of.values.iter().map(|(_, name)| *name).collect()),
            None => PathEnd::Number,
        }),
        Type::Handle(n) => none(match tables.handles.get(usize::from(n)) {
            Some(of) => PathEnd::Names(of.name, of.special.iter().map(|(_, name)| *name).collect()),
            None => PathEnd::Number,
        }),
        Type::Int { signed: false, .. } | Type::Bool(_) | Type::DevicePointer | Type::Code => none(PathEnd::Unsigned),
        Type::Int { .. } | Type::Float(_) | Type::BFloat16 => none(PathEnd::Number),
        Type::Uuid | Type::Char => none(PathEnd::Any),
        Type::Void => Ok(PathEnd::Any),
    }
}

/// Where a path leads from one of the types that a value may have; else what their fields are called.
fn one_of(
    tables: &'static Tables,
    types: impl Iterator<Item = TypeId>,
    step: &str,
    path: &[String],
    levels: u32,
) -> Result<PathEnd, MissingStep> {
    let mut missing = MissingStep { step: step.to_owned(), near: Vec::new() };
    let mut inner = None;
    for ty in types.filter(|ty| !matches!(tables.types.get(usize::from(*ty)), None | Some(Type::Void))) {
        match resolve_path(tables, ty, Rule::One, path, levels) {
            Ok(_) => return Ok(PathEnd::Any),
            Err(wrong) if wrong.step == missing.step => missing.near.extend(wrong.near),
            // One has a field of this name, in which the next one is missing.
            Err(wrong) => inner = inner.or(Some(wrong)),
        }
    }
    Err(inner.unwrap_or(missing))
}

/// A field by its name, in any version of a struct; those of a union without a name (`_1`) are its own.
fn field(
    tables: &'static Tables,
    first: u16,
    name: &str,
    names: &mut Vec<&'static str>,
    levels: u32,
) -> Option<(TypeId, Rule)> {
    let rows = tables.structs.get(usize::from(first)..)?;
    let of = rows.first()?.name;
    let fields = || rows.iter().take_while(|s| s.name == of).flat_map(|s| s.fields);
    if let Some(found_field) = fields().find(|f| f.name == name) {
        return Some((found_field.ty, found_field.rule));
    }
    names.extend(fields().map(|f| f.name).filter(|n| !is_nameless(n)));
    let levels = levels.checked_sub(1)?;
    fields().filter(|f| is_nameless(f.name)).find_map(|f: &known::Param| match tables.types.get(usize::from(f.ty)) {
        Some(Type::Struct(inner) | Type::Union(inner)) => field(tables, *inner, name, names, levels),
        _ => None,
    })
}

fn is_nameless(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use crate::filter::Filter;
    use crate::synthetic::tables::TABLES;

    fn refused(text: &str) -> String {
        let filter = Filter::parse_with(text, &[]).unwrap();
        filter.check_parameters(&TABLES).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_can_be() {
        for text in [
            "cuMemAlloc*[bytesize>1],cudaLaunchKernel[kernel=x],cublasUnknown[a=1]",
            "cuLaunch*[config.gridDim.x=3],cuLaunch*[config.attrs.0.cluster.x=2],cuLaunch*[kernelParams.n=5]",
            "cuLaunch*[kernelParams.0>5],cuLaunch*[config=NULL],cuFixtureKinds[mixed.name=a]",
            "cuStreamCreate[Flags=NON_BLOCKING],cuStreamCreate[Flags=NON*],cuStreamCreate[Flags=5]",
            "cuStreamSynchronize[hStream=CU_STREAM_LEGACY],cuStreamSynchronize[hStream=NULL],*[bytesize=1]",
            "cuFixtureKinds[mixed.numbers.2=1],cuPointerGetAttribute[data=x],cuFixtureKinds[kind=*HostToDevice]",
            "cuLaunch*[config.priority=1]",
        ] {
            assert_eq!(refused(text), "", "{text}");
        }
    }

    #[test]
    fn what_cannot() {
        for (text, why) in [
            (
                "cuMemAlloc*[bytesiz>1]",
                "no function of cuMemAlloc*[bytesiz>1] has a parameter bytesiz; did you mean bytesize? (it has dptr, bytesize)",
            ),
            (
                "cuMemAlloc*[bytesize=banana]",
                "bytesize in cuMemAlloc*[bytesize=banana] is a number, and banana is none; write it as 4096, 0x1000 or 1GiB",
            ),
            (
                "cuLaunch*[config.gridDin.x=1]",
                "config in cuLaunch*[config.gridDin.x=1] has no field gridDin; did you mean gridDim?",
            ),
            (
                "cuLaunch*[config.gridDim.w=1]",
                "config.gridDim in cuLaunch*[config.gridDim.w=1] has no field w; did you mean x, y, z?",
            ),
            (
                "cuLaunch*[gridDim.x=1]",
                "no function of cuLaunch*[gridDim.x=1] has a parameter gridDim, but there is a field of this name: write it as \
                 config.gridDim",
            ),
            (
                "cuLaunch*[n=7]",
                "no function of cuLaunch*[n=7] has a parameter n; a kernel's own parameter is written as kernelParams.n, or \
                 kernelParams.0 by its place",
            ),
            (
                "cuMemAlloc*[bytesize<-1]",
                "bytesize in cuMemAlloc*[bytesize<-1] is never below 0, so -1 compares with nothing; all bits set are \
                 0xffffffffffffffff",
            ),
            ("cuMemAlloc*[bytesize.x=1]", "bytesize in cuMemAlloc*[bytesize.x=1] has no field x"),
            (
                "cuStreamCreate[Flags=NON_BLOKING]",
                "Flags in cuStreamCreate[Flags=NON_BLOKING] is a flags, and NON_BLOKING is none of its names; \
                 did you mean NON_BLOCKING?",
            ),
            ("cuLaunch*[config.attrs.first=1]", "config.attrs in cuLaunch*[config.attrs.first=1] has no field first"),
            (
                "cuStreamSynchronize[hStream=mine]",
                "hStream in cuStreamSynchronize[hStream=mine] is a CUstream, and mine is none of its names \
                 (it has CU_STREAM_LEGACY, CU_STREAM_PER_THREAD)",
            ),
        ] {
            assert_eq!(refused(text), why);
        }
    }

    #[test]
    fn fields_of_what_a_tag_announces() {
        let refused = |text: &str| {
            let filter = Filter::parse_with(text, &[]).unwrap();
            filter.check_parameters(&cutap_calls::generated::known::TABLES).err().map(|e| e.to_string())
        };
        let why = "value in cuStreamSetAttribute[value.nosuch=1] has no field nosuch (it has accessPolicyWindow, cooperative, ";
        let said = refused("cuStreamSetAttribute[value.nosuch=1]").unwrap_or_default();
        assert!(said.starts_with(why) && said.ends_with(", ...)"), "{said}");
        let why = "config.attrs.0 in cuLaunchKernelEx[config.attrs.0.clusterDim.x=1] has no field clusterDim (it has id, value)";
        assert_eq!(refused("cuLaunchKernelEx[config.attrs.0.clusterDim.x=1]").as_deref(), Some(why));
        let why = "no function of cuMemAlloc[size>1MiB] has a parameter size (it has dptr, bytesize)";
        assert_eq!(refused("cuMemAlloc[size>1MiB]").as_deref(), Some(why));
        let why = "no function of nccl[bytesize=1] has a parameter bytesize";
        assert_eq!(refused("nccl[bytesize=1]").as_deref(), Some(why));
        let why = "value.hitProp in cuStreamSetAttribute[value.hitProp.x=1] has no field x";
        assert_eq!(refused("cuStreamSetAttribute[value.hitProp.x=1]").as_deref(), Some(why));
        for text in [
            "cuStreamSetAttribute[value.num_bytes>1]",
            "cuStreamSetAttribute[value.accessPolicyWindow.num_bytes>1]",
            "cuStreamSetAttribute[value.priority=2]",
            "cuLaunchKernelEx[config.attrs.0.value.clusterDim.x=1]",
            "nccl[count>1],libnccl[count>1]",
            "cuStreamSetAttribute[value=2]",
            "cuPointerGetAttribute[data=x]",
            "cuPointerGetAttributes[data.0=1]",
        ] {
            assert_eq!(refused(text), None);
        }
    }
}
