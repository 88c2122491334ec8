//! Views of `cutap query`, and questions with their SQL, which `cutap query --list` prints.

/// A query with a name, which other queries read like a table.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Its name, which is a noun of the command line.
    pub name: &'static str,
    /// What a row is.
    pub meaning: &'static str,
    /// Its query.
    pub sql: &'static str,
}

/// The views. They read tables alone.
pub const VIEWS: &[View] = &[
    View {
        name: "gaps",
        meaning: "A time in which a device had no work, between two pieces of work. Of runs with --gpu-time.",
        sql: "\
select run, rank, host, device, busy_until as start_ns, start_ns - busy_until as duration_ns
from (
  select run, rank, host, device, start_ns,
    max(start_ns + duration_ns) over (
      partition by run, rank, device order by start_ns rows between unbounded preceding and 1 preceding
    ) as busy_until
  from gpu where start_ns is not null and duration_ns is not null
) as work
where start_ns > busy_until",
    },
    View {
        name: "steps",
        meaning: "A range of NVTX that a rank has three times or more. Numbers in its name are * in `step`.",
        sql: "\
select run, rank, host, pid, tid, domain, step, name, start_ns, duration_ns
from (
  select *, count(*) over (partition by run, rank, domain, step) as repeated
  from (
    select *, regexp_replace(name, '[0-9]+', '*', 'g') as step
    from ranges where duration_ns is not null
  ) as ended
) as counted
where repeated >= 3",
    },
    View {
        name: "ranks",
        meaning: "A rank of a run, with sums of its calls and of the GPU's work.",
        sql: "\
select f.run, f.rank, f.host, f.processes, f.calls, f.errors, f.self_ns, g.gpu_ns
from (
  select run, rank, min(host) as host, count(distinct pid) as processes, sum(calls) as calls,
    sum(errors) as errors, sum(self_ns) as self_ns
  from functions group by run, rank
) as f
left join (
  select run, rank, sum(duration_ns) as gpu_ns from gpu group by run, rank
) as g on f.run = g.run and f.rank = g.rank",
    },
    View {
        name: "graphs",
        meaning: "An executable graph of a process, with its replays. Of runs with --gpu-time.",
        sql: "\
select run, rank, host, pid, device, graph, count(distinct correlation) as replays,
  count(distinct node) as nodes, count(*) as pieces, sum(duration_ns) as gpu_ns
from gpu where graph is not null
group by run, rank, host, pid, device, graph",
    },
];

/// A question with its query. Other engines give the same answers.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// For people.
    pub text: &'static str,
    /// For engines.
    pub sql: &'static str,
}

/// Worked questions.
pub const QUESTIONS: &[Question] = &[
    Question {
        text: "Which functions took most time?",
        sql: "\
select library, function, sum(calls) as calls, sum(self_ns) / 1e6 as self_ms
from functions group by library, function
order by self_ms desc, library, function limit 10",
    },
    Question {
        text: "How many bytes does each library copy?",
        sql: "\
select library, count(*) as copies, sum(bytes) as bytes
from calls where bytes is not null and function like '%emcpy%'
group by library order by bytes desc, library",
    },
    Question {
        text: "How much memory was allocated at the peak, and when?",
        sql: "\
select run, rank, pid, memory, total as peak_bytes, at_ns
from (
  select *, row_number() over (partition by run, rank, pid, memory order by total desc, at_ns) as place
  from (
    select run, rank, pid, memory, at_ns,
      sum(change) over (
        partition by run, rank, pid, memory order by at_ns, change rows unbounded preceding
      ) as total
    from (
      select run, rank, pid, memory, start_ns as at_ns, bytes as change
      from allocations where bytes is not null
      union all
      select run, rank, pid, memory, freed_ns as at_ns, -bytes as change
      from allocations where bytes is not null and freed_ns is not null
    ) as changes
  ) as totals
) as placed
where place = 1 order by run, rank, pid, memory",
    },
    Question {
        text: "Which calls failed, and where?",
        sql: "\
select library, function, result_name, range, count(*) as errors
from errors group by library, function, result_name, range
order by errors desc, library, function, result_name, range",
    },
    Question {
        text: "Which waits were the longest?",
        sql: "\
select run, rank, tid, function, start_ns, duration_ns
from calls where function like '%ynchronize' and duration_ns is not null
order by duration_ns desc, start_ns, run, rank, tid limit 10",
    },
    Question {
        text: "How many kernels does each step launch?",
        sql: "\
select s.run, s.rank, s.name, s.start_ns, count(*) as launches
from steps as s
join calls as c on c.run = s.run and c.rank = s.rank and c.tid = s.tid
  and c.start_ns >= s.start_ns and c.start_ns < s.start_ns + s.duration_ns
where c.layer = 'driver' and c.kernel is not null
group by s.run, s.rank, s.name, s.start_ns order by s.run, s.rank, s.start_ns, s.name",
    },
    Question {
        text: "How long were the devices idle between work?",
        sql: "\
select run, rank, device, count(*) as gaps, sum(duration_ns) / 1e6 as idle_ms, max(duration_ns) as longest_ns
from gaps group by run, rank, device order by run, rank, device",
    },
    Question {
        text: "In which functions do ranks differ most?",
        sql: "\
select run, function, min(self_ms) as least_ms, max(self_ms) as most_ms, max(self_ms) - min(self_ms) as spread_ms
from (
  select run, rank, function, sum(self_ns) / 1e6 as self_ms from functions group by run, rank, function
) as of_ranks
group by run, function order by spread_ms desc, run, function limit 10",
    },
    Question {
        text: "What memory was never freed?",
        sql: "\
select run, rank, pid, memory, count(*) as allocations, sum(bytes) as bytes
from allocations where freed_ns is null
group by run, rank, pid, memory order by run, rank, pid, memory",
    },
    Question {
        text: "Which kernels took most time? Without --gpu-time, launch_ms is that of the calls.",
        sql: "\
select kernel, sum(calls) as launches, sum(total_ns) / 1e6 as launch_ms, sum(gpu_ns) / 1e6 as gpu_ms
from kernels where layer = 'driver'
group by kernel order by gpu_ms desc nulls last, launch_ms desc, kernel",
    },
];
