//! The fields of JSON lines on GPU time, for `json_schema`.

use crate::call::columns::{RANK, RUN};
use crate::outputs::field_row::FieldRow;

/// What the GPU did.
pub const ROW: &[FieldRow] = &[
    ("pid", "integer", "process"),
    ("work", "string", "`kernel`, `copy` or `set`"),
    ("device", "integer", "number of the device"),
    ("context", "integer", "CUPTI's number of the context"),
    ("stream", "integer", "CUPTI's number of the stream"),
    ("correlation", "integer", "number of the submission in its process; nodes of a graph have that of the launch"),
    ("start_ns", "integer|null", "beginning, CLOCK_MONOTONIC; null if the clock of CUPTI is not known"),
    ("end_ns", "integer|null", "end, as `start_ns`"),
    ("duration_ns", "integer|null", "null if the times cannot be"),
    ("tid", "integer|null", "thread of the call that submitted it; null if that is not known, and in a live trace"),
    ("call_start_ns", "integer|null", "`start_ns` of that call, as `tid`: a call of the driver"),
    ("kernel?", "string|null", "of kernels: the demangled name"),
    ("grid?", "array", "of kernels: blocks"),
    ("block?", "array", "of kernels: threads of a block"),
    ("registers?", "integer", "of kernels: registers of a thread"),
    ("static_shared?", "integer", "of kernels: static shared memory of a block in bytes"),
    ("dynamic_shared?", "integer", "of kernels: dynamic shared memory of a block in bytes"),
    ("bytes?", "integer", "of copies and sets"),
    ("copy?", "string", "of copies: `HtoD`, `DtoH`, `DtoD`, `PtoP`, ..."),
    ("value?", "integer", "of sets: the value of an element"),
    ("graph?", "integer", "of nodes of graphs: CUPTI's id of the executable graph"),
    ("node?", "integer", "of nodes of graphs: the place of the node in its graph, in the order of creation"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
];

/// A clock.
pub const CLOCK: &[FieldRow] = &[
    ("ns", "integer", "when, CLOCK_MONOTONIC"),
    ("device", "integer|null", "number of the device in the program; null if that is not known"),
    ("nvml_device", "integer", "NVML's number of the device"),
    ("name", "string", "name of the product"),
    ("uuid", "string", "`GPU-` and the UUID"),
    ("pci", "string", "PCI address"),
    ("sm_mhz", "integer", "clock of the SMs"),
    ("max_sm_mhz", "integer|null", "the highest one"),
    (
        "reasons",
        "array|null",
        "why the clock is what it is: `idle`, `power_cap`, `hw_thermal`, ... (`api/gpu-clocks.toml`); null if NVML \
         does not tell",
    ),
    ("busy_percent", "integer|null", "part of the time before it in which a kernel of any process ran"),
    ("celsius", "integer|null", "temperature"),
    ("milliwatts", "integer|null", "power"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
];

/// `report --by kernel`.
pub const KERNEL: &[FieldRow] = &[
    ("kernel", "string", "demangled name"),
    ("calls", "integer", "how often it ran"),
    ("total_ns", "integer", "time on the GPU"),
    ("share", "number", "part of the time of all kernels, from 0 to 1"),
    ("mean_ns", "integer", "mean"),
    ("min_ns", "integer", "shortest"),
    ("p50_ns", "integer", "median"),
    ("p95_ns", "integer", "95th percentile"),
    ("max_ns", "integer", "longest"),
    ("bad_times", "integer", "runs whose times cannot be; they are in `calls` alone"),
    ("shapes", "array", "`grid`, `block` and `calls` of each shape"),
];

/// `report --copies`.
pub const COPY: &[FieldRow] = &[
    ("what", "string", "`copy HtoD, pageable to device`, `set`, ..."),
    ("calls", "integer", "number"),
    ("bytes", "integer", "of all of them"),
    ("total_ns", "integer", "time on the GPU"),
    ("mean_ns", "integer", "mean"),
    ("p95_ns", "integer", "95th percentile"),
    ("bytes_per_second", "integer", "bandwidth"),
    ("bad_times", "integer", "those whose times cannot be; they are in `calls` alone"),
];

/// `report --graphs`.
pub const GRAPH: &[FieldRow] = &[
    ("graph", "integer", "CUPTI's id of the executable graph"),
    ("executable", "integer|null", "the how many-th executable graph of its process; null if that was not recorded"),
    ("of_graph", "integer|null", "the how many-th graph it was instantiated from"),
    ("made_ns", "integer|null", "when that was captured or created, CLOCK_MONOTONIC"),
    ("captured", "boolean|null", "whether it was captured"),
    ("launches", "integer", "replays"),
    ("total_ns", "integer", "time of its nodes"),
    ("replay_p50_ns", "integer", "median of a replay, from the first node to the last"),
    ("replay_p95_ns", "integer", "95th percentile of a replay"),
    (
        "nodes",
        "array",
        "the slowest first: `node`, `work`, `total_ns`, `replays`, `p50_ns`, `path` (the calls that made it; null: not \
         known), `arguments` (of the outermost of them), `captured_ns`",
    ),
];

/// `report --gaps`, of a device.
pub const DEVICE: &[FieldRow] = &[
    ("device", "integer", "number of the device"),
    ("busy_ns", "integer", "time with work"),
    ("whole_ns", "integer", "from the first work to the last"),
    ("busy_share", "number", "from 0 to 1"),
    ("streams", "array", "`context`, `stream`, `busy_ns` and `busy_share` of each stream"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
];

/// `report --gaps`, of a cause.
pub const GAP: &[FieldRow] = &[
    ("device", "integer", "number of the device"),
    (
        "cause",
        "string",
        "`synchronisation`: in a wait, or behind one; `allocation`, `call`: most of it in such a call; `launch_bound`: \
         the host only submitted; `no_call`: outside of calls; `queued`: the next work was submitted before; `unknown`",
    ),
    ("behind", "string|null", "the call in which the host waited when the device became idle"),
    ("why", "string", "what the host did meanwhile, in words"),
    ("count", "integer", "gaps"),
    ("total_ns", "integer", "of all of them"),
    ("max_ns", "integer", "the longest"),
    ("share", "number", "part of `whole_ns` of the device, from 0 to 1"),
    ("run?", "string", RUN),
    ("rank?", "integer", RANK),
];
