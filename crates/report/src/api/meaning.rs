//! One sentence on what a function does. It is written in `api/`, or follows from parameters and effects. It is never
//! guessed from the name.

use cutap_calls::known::{Dir, Effect, Function, Tables, Type, TypeId};

/// The sentence; empty without a description.
pub(super) fn meaning(tables: &Tables, function: &Function) -> String {
    if !function.about.is_empty() {
        return function.about.to_owned();
    }
    let kind = |ty: TypeId| match tables.types.get(usize::from(ty)) {
        Some(Type::Handle(n)) => tables.handles.get(usize::from(*n)).map(|h| h.short),
        _ => None,
    };
    let mut sentences = Vec::new();
    for effect in function.effects {
        if let Effect::Destroys(n) = effect
            && let Some((name, kind)) = function.params.get(usize::from(*n)).and_then(|p| Some((p.name, kind(p.ty)?)))
        {
            sentences.push(format!("Ends a handle of kind {kind} ({name})."));
        }
    }
    let mut input_kinds: Vec<&str> = Vec::new();
    for param in function.params {
        match tables.types.get(usize::from(param.ty)) {
            Some(Type::Pointer(to, _)) if param.dir == Dir::Out => {
                if let Some(kind) = kind(*to) {
                    sentences.push(format!("Hands out a handle of kind {kind} (*{}).", param.name));
                }
            }
            _ => input_kinds.extend(kind(param.ty)),
        }
    }
    input_kinds.sort_unstable();
    input_kinds.dedup();
    if sentences.is_empty() && !input_kinds.is_empty() {
        sentences.push(format!("Takes handles of kind {}.", input_kinds.join(", ")));
    }
    sentences.join(" ")
}
