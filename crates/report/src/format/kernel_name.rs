//! The demangled name of a kernel made shorter, for a terminal. The longest form that fits is chosen: without return
//! type and parameters, without namespaces, then with fewer template arguments. What is left out is `…`.

/// Fewer characters of an argument tell nothing.
const BEGINNING: usize = 6;

/// Where a character of a name is: how many brackets of each kind are open around it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Depth {
    angles: usize,
    other_brackets: usize,
}

impl Depth {
    fn is_outside(self) -> bool {
        self == Depth::default()
    }
}

/// The name that stands before `<<<`: no return type, no list of parameters.
pub(crate) fn plain(name: &str) -> &str {
    let name = without_parameters(name);
    // A name that was cut has it too.
    let name = name.strip_prefix("void ").unwrap_or(name);
    // A return type is only there for templates. `operator` and its sign belong together.
    if name.contains("operator") || !name.ends_with('>') {
        return name;
    }
    let outside = characters(name).filter(|(_, c, depth)| *c == ' ' && depth.is_outside());
    outside.last().and_then(|(at, ..)| name.get(at + 1..)).unwrap_or(name)
}

/// The longest form with at most `room` columns. A character counts as one.
pub(crate) fn fitting(name: &str, room: usize) -> String {
    let plain = plain(name);
    if columns(plain) <= room {
        return plain.to_owned();
    }
    let short = without_namespaces(plain);
    let deepest = characters(&short).map(|(.., depth)| depth.angles).max().unwrap_or(0);
    let levels = (1..=deepest).rev().map(|levels| limited(&short, levels));
    let forms = std::iter::once(short.clone()).chain(levels);
    let fits = |form: &String| columns(form) <= room;
    forms.into_iter().find(fits).or_else(|| fewer_arguments(&limited(&short, 1), room)).unwrap_or_else(|| {
        let bare = limited(&short, 0);
        match columns(&bare) <= room {
            true => bare,
            false => bare.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
        }
    })
}

/// Without what is behind the last list of parameters, and without this list.
fn without_parameters(name: &str) -> &str {
    let mut opened = None;
    let mut before = Depth::default();
    for (at, c, depth) in characters(name) {
        if c == '(' && before.is_outside() && !name[..at].ends_with("operator") {
            // A list that is followed by `::` belongs to a scope.
            opened = Some(at);
        }
        if name[at..].starts_with("::") && depth.is_outside() {
            opened = None;
        }
        before = depth;
    }
    opened.filter(|at| *at > 0).and_then(|at| name.get(..at)).unwrap_or(name)
}

/// Without namespaces, and without the function around a lambda or a local type. A class with template arguments stays.
fn without_namespaces(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    // Where the last component of the current path begins in `out`; one entry a bracket.
    let mut starts = vec![0usize];
    let mut rest = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = rest.next() {
        match c {
            ':' if rest.peek() == Some(&':') => {
                rest.next();
                if let Some(start) = starts.last_mut() {
                    let component = out.get(*start..).unwrap_or("");
                    if component.ends_with('>') && !component.contains('(') {
                        out.push_str("::");
                        *start = out.len();
                    } else {
                        out.truncate(*start);
                    }
                }
            }
            '<' | '(' | '[' | '{' => {
                out.push(c);
                starts.push(out.len());
            }
            '>' if before == '-' => out.push(c),
            '>' | ')' | ']' | '}' => {
                while c == '>' && out.ends_with(' ') {
                    out.pop();
                }
                starts.iter_mut().for_each(|start| *start = (*start).min(out.len()));
                out.push(c);
                if starts.len() > 1 {
                    starts.pop();
                }
            }
            ' ' | ',' | '*' | '&' => {
                out.push(c);
                if let Some(last) = starts.last_mut().filter(|_| before != ')' || c != ' ') {
                    *last = out.len();
                }
            }
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Template arguments inside more than `levels` others are `…`.
fn limited(name: &str, levels: usize) -> String {
    let mut out = String::with_capacity(name.len());
    let mut hidden = false;
    for (_, c, depth) in characters(name) {
        // The depth of `<` counts it; that of `>` does not.
        let is_inside = depth.angles > levels || c == '>' && depth.angles == levels && hidden;
        match (is_inside, hidden) {
            (true, false) => {
                out.push_str("<…");
                hidden = true;
            }
            (true, true) if c == '>' && depth.angles == levels => {
                out.push('>');
                hidden = false;
            }
            (true, true) => {}
            (false, _) => out.push(c),
        }
    }
    out
}

/// `name<128, …>`: the first arguments of the last list; none if not even one fits.
fn fewer_arguments(name: &str, room: usize) -> Option<String> {
    let (open, ..) = characters(name).filter(|(_, c, depth)| *c == '<' && depth.angles == 1).last()?;
    let commas: Vec<usize> = characters(name)
        .filter(|(at, c, depth)| *at > open && *c == ',' && depth.angles == 1)
        .map(|(at, ..)| at)
        .collect();
    let close = characters(name).filter(|(at, c, depth)| *at > open && *c == '>' && depth.angles == 0).last()?.0;
    let forms = commas.iter().rev().filter_map(|comma| {
        let (head, tail) = (name.get(..*comma)?, name.get(close..)?);
        Some(format!("{head}, …{tail}"))
    });
    forms.into_iter().find(|form| columns(form) <= room).or_else(|| {
        // The beginning of the first one.
        let (head, tail) = (name.get(..=open)?, name.get(close..)?);
        let first = name.get(open + 1..*commas.first().unwrap_or(&close))?;
        let columns = room.checked_sub(columns(head) + columns(tail) + 1).filter(|columns| *columns >= BEGINNING)?;
        Some(format!("{head}{}…{tail}", first.chars().take(columns).collect::<String>()))
    })
}

/// The characters of a name, with the brackets that are open behind each. `->`, and the sign behind `operator`, are no
/// brackets.
fn characters(name: &str) -> impl Iterator<Item = (usize, char, Depth)> + '_ {
    let mut depth = Depth::default();
    let mut before = ' ';
    name.char_indices().map(move |(at, c)| {
        let is_sign =
            name[..at].trim_end_matches(['<', '>', '=', '-']).ends_with("operator") || before == '-' && c == '>';
        match c {
            '<' if !is_sign => depth.angles += 1,
            '>' if !is_sign => depth.angles = depth.angles.saturating_sub(1),
            '(' | '[' | '{' => depth.other_brackets += 1,
            ')' | ']' | '}' => depth.other_brackets = depth.other_brackets.saturating_sub(1),
            _ => {}
        }
        before = c;
        (at, c, depth)
    })
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILL: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, \
                        std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)";
    const LAMBDA: &str = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::\
                          CUDAFunctor_add<float> >(at::TensorIteratorBase&, CUDAFunctor_add<float> const&)::\
                          {lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<float>(int)::{lambda(int)#1})";

    #[test]
    fn no_return_type_and_no_parameters() {
        for (name, short) in [
            ("saxpy(int, float, float const*, float*)", "saxpy"),
            ("saxpy", "saxpy"),
            ("void fill<int>(int*)", "fill<int>"),
            ("(anonymous namespace)::run(int)", "(anonymous namespace)::run"),
            ("void (anonymous namespace)::run<(Kind)1>(int)", "(anonymous namespace)::run<(Kind)1>"),
            ("Body::operator()(int) const", "Body::operator()"),
            ("operator<(Pair, Pair)", "operator<"),
            ("", ""),
            ("(", "("),
            (">>", ">>"),
        ] {
            assert_eq!(plain(name), short);
        }
        assert!(plain(LAMBDA).ends_with("{lambda(int)#1}>"), "{}", plain(LAMBDA));
    }

    #[test]
    fn the_longest_form_that_fits() {
        let long =
            "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >";
        for (room, form) in [
            (200, long),
            (long.len(), long),
            (long.len() - 1, "vectorized_elementwise_kernel<4, FillFunctor<int>, array<char*, 1ul>>"),
            (68, "vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>"),
            (57, "vectorized_elementwise_kernel<4, FillFunctor<…>, …>"),
            (50, "vectorized_elementwise_kernel<4, …>"),
            (34, "vectorized_elementwise_kernel<…>"),
            (20, "vectorized_elementw…"),
            (1, "…"),
        ] {
            assert_eq!(fitting(FILL, room), form, "{room}");
            assert!(fitting(FILL, room).chars().count() <= room);
        }
        assert_eq!(fitting(LAMBDA, 60), "elementwise_kernel<128, 4, {lambda(int)#1}>");
        assert_eq!(fitting("a::Outer<1, b::In<2> >::run<c::X<3> >(int)", 28), "Outer<1, In<2>>::run<X<3>>");
        assert_eq!(fitting("a::Outer<1, b::In<2> >::run<c::X<3> >(int)", 25), "Outer<…>::run<…>");
    }

    /// Names come from files of the program. No form is longer than its room, whatever the name is.
    #[test]
    fn any_name() {
        let parts = ["<", ">", "(", ")", "::", " ", "a", "operator", "->", "…", ",", "{", "}", "*", "void "];
        let mut seed = 1u64;
        for _ in 0..50_000 {
            let mut name = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                name.push_str(parts[(seed >> 33) as usize % parts.len()]);
            }
            let room = (seed >> 40) as usize % 20 + 1;
            assert!(fitting(&name, room).chars().count() <= room, "{name} {room}");
        }
    }
}
