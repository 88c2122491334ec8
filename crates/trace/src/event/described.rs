//! The description of a function: by family, name and version. It is a binary search in the generated tables; nothing
//! is built at the start of a trace.

use cutap_calls::Layer;
use cutap_calls::known::{Function, Param, Rule, Shape, Tables, Type, TypeId};

/// What is known of a function, and how its words were recorded.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// The description.
    pub function: &'static Function,
    /// The tables that it stands in.
    pub tables: &'static Tables,
    /// The version that it was chosen for; `u32::MAX`: the newest.
    pub version: u32,
    /// How its words were recorded.
    pub(crate) words: WordSource,
}

/// How the words of a function's records came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordSource {
    /// By a frame: registers and stack.
    Frame(Shape),
    /// They are a runtime's parameter block.
    Block,
}

impl PartialEq for Described {
    fn eq(&self, other: &Described) -> bool {
        std::ptr::eq(self.function, other.function) && self.version == other.version && self.words == other.words
    }
}
impl Eq for Described {}

impl Described {
    /// Whether its arguments may tell of those of the call around it: a kernel's parameters, memory of either side.
    pub(crate) fn resolves_caller_args(&self) -> bool {
        let params = self.function.params;
        has_kernel_params(self.tables, params, 4) || params.iter().any(|p| matches!(p.rule, Rule::Either(_)))
    }
}

fn has_kernel_params(tables: &'static Tables, params: &[Param], levels: u32) -> bool {
    let of = |ty: TypeId| tables.types.get(usize::from(ty)).copied();
    let inside = |p: &Param| match of(p.ty) {
        Some(Type::Pointer(to, _)) => of(to),
        other => other,
    };
    params.iter().any(|p| match (p.rule, inside(p)) {
        (Rule::KernelParams(..), _) => true,
        (_, Some(Type::Struct(n) | Type::Union(n))) if levels > 0 => {
            tables.structs.get(usize::from(n)).is_some_and(|s| has_kernel_params(tables, s.fields, levels - 1))
        }
        _ => false,
    })
}

/// The description of `name`, a function of this layer and library. `version` is the runtime's, when it
/// is known; else the library's name tells.
pub(crate) fn find(
    tables: &'static Tables,
    layer: Layer,
    library: &str,
    name: &str,
    version: Option<u32>,
) -> Option<(&'static Function, u32)> {
    let (mut families, version) = match layer {
        // A driver's export never changes its form: a new form is a new name.
        Layer::DRIVER => (vec!["driver"], u32::MAX),
        Layer::RUNTIME => (vec!["runtime"], version.unwrap_or_else(|| newest_of(number(library)))),
        // Functions of libc, whatever it is called.
        Layer::SYSCALL => (vec!["syscall"], u32::MAX),
        _ => (Vec::new(), number(library)),
    };
    if families.is_empty() {
        let of =
            |f: &&cutap_calls::known::Family| f.sonames.iter().any(|s| cutap_calls::is_soname(s, library.as_bytes()));
        families.extend(tables.families.iter().filter(of).map(|f| f.name));
    }
    let forms = tables.families.iter().filter(|f| families.contains(&f.name)).map(|f| {
        let from = f.functions.partition_point(|of| of.name < name);
        let rest = f.functions.get(from..).unwrap_or(&[]);
        rest.get(..rest.partition_point(|of| of.name == name)).unwrap_or(&[])
    });
    let forms = forms.into_iter().find(|forms| !forms.is_empty())?;
    let fits = |f: &&Function| f.since <= version && version <= f.until;
    // Of a version that nobody has looked at the nearest form below is the best guess.
    let below = || forms.iter().rfind(|f| f.since <= version);
    Some((forms.iter().rfind(fits).or_else(below).or(forms.first())?, version))
}

/// The first number behind `.so.`: 12 of `libcublas.so.12`; `u32::MAX` when there is none.
fn number(soname: &str) -> u32 {
    let digits = soname.rsplit_once(".so.").map_or("", |(_, n)| n.split('.').next().unwrap_or(""));
    digits.parse().unwrap_or(u32::MAX)
}

/// The newest toolkit of a major version, as CUDA writes versions.
fn newest_of(major: u32) -> u32 {
    if major < 1000 { major * 1000 + 990 } else { major }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (soname, n) in [
            ("libcublas.so.12", 12),
            ("libcudart-d0da41ae.so.11.0", 11),
            ("libnvrtc.so.11.2", 11),
            ("libfoo.so", u32::MAX),
            ("saxpy", u32::MAX),
        ] {
            assert_eq!(number(soname), n, "{soname}");
        }
        assert_eq!((newest_of(12), newest_of(u32::MAX)), (12990, u32::MAX));
    }
}
