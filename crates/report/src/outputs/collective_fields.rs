//! The fields of the JSON lines of `report --collectives`.

use super::field_row::FieldRow;

/// A communicator.
pub const COMMUNICATOR: &[FieldRow] = &[
    ("communicator", "string", "its name in this answer: `comm#1`"),
    ("identity", "string|null", "the same word in answers of other runs of the job; null: its making was not recorded"),
    ("made_by", "string|null", "the function that made it"),
    ("ranks", "integer|null", "how many ranks it has; null: not known"),
    ("first", "integer", "number of the first call that all ranks have"),
    ("agreed", "integer", "calls from there that agree on all ranks"),
    (
        "members",
        "array",
        "ranks that are in these runs: `rank` (in words), `rank_in_communicator`, `pid`, `run`, numbers of calls that \
         were `called`, `enqueued` and known `complete`, `communicator_end` (`destroyed`, `aborted`), `aligned` (how \
         numbers of a recording that begins late were found)",
    ),
    ("unknown_ranks", "array", "ranks that are in none of these runs"),
    ("notes", "array", "what else is not known, in words"),
];

/// Calls of a communicator that are alike.
pub const COLLECTIVE: &[FieldRow] = &[
    ("communicator", "string", "its communicator"),
    ("call", "string", "function and parameters"),
    ("count", "integer", "calls"),
    ("spread_ns", "integer|null", "from the first rank that called it to the last one, on average; null: not known"),
    ("max_spread_ns", "integer|null", "the longest time"),
    ("last", "object", "how often each rank was the last one"),
    ("gpu_ns", "integer|null", "how long the GPU worked for it, on the rank with the shortest time; on average"),
    ("bytes_per_second", "integer|null", "bytes of the larger buffer by that time; null without GPU time"),
];

/// What does not fit.
pub const FINDING: &[FieldRow] = &[
    (
        "kind",
        "string",
        "`mismatch`, `earlier_mismatch` (among calls that are no longer known), `not_arrived`, `not_joined` (ranks did \
         not make the communicator), `transfer`, `order`",
    ),
    ("communicator", "string|null", "its communicator; null: an order of calls of two"),
    ("call", "integer|null", "number of the call in its communicator, or of the transfer between two ranks"),
    ("sides", "array", "`ranks` and what they called, `call`; null: nothing"),
    ("is_over", "boolean", "the ranks are known to have gone past it"),
    ("text", "string", "the same in words"),
];
