//! The texts of `cutap help TOPIC`, embedded from `crates/cli/help`.

/// A page and the word by which it is asked for.
pub const TOPICS: [(&str, &str); 6] = [
    ("filters", include_str!("../help/filters.txt")),
    ("output", include_str!("../help/output.txt")),
    ("files", include_str!("../help/files.txt")),
    ("environment", include_str!("../help/environment.txt")),
    ("hooks", include_str!("../help/hooks.txt")),
    ("strace", include_str!("../help/strace.txt")),
];

/// The ten lines about filters at the end of `cutap trace --help`.
pub const FILTERS_SHORT: &str = include_str!("../help/filters_short.txt");
