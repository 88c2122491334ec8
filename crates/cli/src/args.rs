//! Flags that several subcommands share. Each flag is declared once and flattened into the subcommands that have it.

use crate::heading;
use crate::inject_args::InjectArgs;
use crate::limit_args::LimitArgs;
use crate::strace_args::{StraceArgs, variable};
use crate::text_args::TextArgs;
use crate::verdict;
use clap::{Args, ValueEnum};
use cutap_collect::{
    CaptureRange, DriverChoice, Error, FlightRecorderSize, OutputFormat, OverflowPolicy, Python, Result, StackSize,
    Stacks, TraceOptions, Window,
};
use cutap_cudest::Survey;
use cutap_report::{ended_early, may_lack_frees, missing_calls};
use cutap_trace::{End, Filter, FinishedRun, Runs, TimeWindow};
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which calls are recorded, shown or added up.
#[derive(Debug, Default, Args)]
pub struct FilterArgs {
    /// Only these calls: names with *, layers, conditions (cutap help filters)
    #[arg(short = 'e', long, value_name = "FILTER")]
    filter: Vec<String>,
    /// Only calls that succeeded, as -e '!error'
    #[arg(short = 'z')]
    succeeded: bool,
    /// Only calls that failed, as -e error
    #[arg(short = 'Z', conflicts_with = "succeeded")]
    failed: bool,
}

/// In front of a rule in `-e`.
const INJECT: &str = "inject=";

impl FilterArgs {
    /// Takes `-e inject=RULE` out, as strace has it.
    pub fn take_rules(&mut self) -> Vec<String> {
        let (rules, filter): (Vec<String>, Vec<String>) =
            std::mem::take(&mut self.filter).into_iter().partition(|term| term.starts_with(INJECT));
        self.filter = filter;
        rules.iter().filter_map(|rule| rule.strip_prefix(INJECT)).map(str::to_owned).collect()
    }

    /// The filter's text; none wants all calls.
    pub fn text(&self) -> Option<String> {
        let outcomes = [("!error", self.succeeded), ("error", self.failed)];
        let terms = outcomes.into_iter().filter(|(_, given)| *given).map(|(term, _)| term.to_owned());
        let all: Vec<String> = self.filter.iter().cloned().chain(terms).collect();
        (!all.is_empty()).then(|| all.join(" & "))
    }
}

/// Lines of JSON instead of text.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// How calls are printed.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// A table of functions with calls, errors and times instead of each call
    #[arg(short = 'c', long)]
    summary: bool,
    /// Only count calls, at least cost: no times, no errors
    #[arg(short = 'C', long = "count", conflicts_with = "summary")]
    counts: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    text: TextArgs,
}

impl OutputArgs {
    pub fn format(&self) -> OutputFormat {
        let text = self.text.options();
        OutputFormat { json: self.json.json, summary: self.summary, only_hooks: false, counts: self.counts, text }
    }
}

/// What a command reads.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Recordings, run directories or PIDs; several are the ranks of one job
    #[arg(value_name = "RUN", default_value = "run.cutap")]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    window: WindowArgs,
}

impl InputArgs {
    /// The part of the run that is read; none for all of it.
    pub fn window(&self) -> Result<Option<TimeWindow>> {
        self.window.window()
    }
}

/// A part of the time of a run.
#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Only calls that overlap the time from TIME on, since the start of the run: 2, 500ms
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = heading::WINDOW)]
    from: Option<Duration>,
    /// Only calls that begin before TIME, since the start of the run
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = heading::WINDOW)]
    to: Option<Duration>,
}

impl WindowArgs {
    /// The part of the run that is read; none for all of it.
    pub fn window(&self) -> Result<Option<TimeWindow>> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(None);
        }
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let from_ns = self.from.map_or(0, nanoseconds);
        let to_ns = self.to.map_or(u64::MAX, nanoseconds);
        if from_ns >= to_ns {
            return Err(Error::own(
                "--from is not before --to, so there is no time between them; give an earlier --from",
            ));
        }
        Ok(Some(TimeWindow { from_ns, to_ns, origin_ns: 0 }))
    }
}

/// Problems that are known.
#[derive(Debug, Args)]
pub struct BaselineArgs {
    /// Leave out problems that RUN has as often, by their calls (an older recording)
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<PathBuf>,
}

/// Refuses a baseline that knows no problem, or no leak for certain.
pub fn check_baseline(run: &Path, has_calls: bool, end: &End, is_of_leaks: bool) -> Result<()> {
    let run = run.display();
    if !has_calls {
        return Err(Error::own(format!(
            "the baseline {run} has no call; give a recording of the program, or leave --baseline out"
        )));
    }
    if let Some(missing) = missing_calls(&[end]).filter(|_| is_of_leaks && may_lack_frees(&[end])) {
        return Err(Error::own(format!(
            "what the baseline {run} left may have been freed: it lacks calls ({missing}); record all calls of it"
        )));
    }
    match ended_early(&[end]).filter(|_| is_of_leaks) {
        Some(sentence) => Err(Error::own(format!(
            "what the baseline {run} left is no leak for certain: {sentence}; give a recording of a program that ended \
             by itself"
        ))),
        None => Ok(()),
    }
}

/// What a baseline does to the list. `without_stacks`: why they are not compared.
pub fn baseline_notice(old: &Path, without_stacks: Option<&str>) -> String {
    let why = without_stacks.map(|why| format!("; only their calls were compared, since {why}"));
    format!("problems that {} has as often are left out{}", old.display(), why.unwrap_or_default())
}

/// Why stacks of two recordings cannot be compared: one of them has none, or its program is not there as it was.
pub fn why_no_stacks(old: &Path, old_end: &End, runs: &Runs, run_ends: &[FinishedRun]) -> Result<Option<String>> {
    let old_has_none = Runs::open(&[old.to_owned()])?.keep_no_stacks()?;
    if old_has_none != runs.keep_no_stacks()? {
        return Ok(Some("one of the recordings has no stacks".to_owned()));
    }
    let files = |end: &End| end.absent.iter().map(|of| of.path.to_string()).collect::<Vec<_>>();
    let changed = files(old_end).into_iter().chain(run_ends.iter().flat_map(|of| files(&of.end))).next();
    Ok(changed.map(|file| format!("{file} is not there as it was recorded, so frames have no names")))
}

/// Whether the exit code says that problems were found.
#[derive(Debug, Args)]
pub struct ExitCodeArgs {
    /// Exit code 1 if there is a problem, 0 if none, 125 if cutap failed or calls are missing
    #[arg(long)]
    exit_code: bool,
}

impl ExitCodeArgs {
    /// Whether it is wanted.
    pub fn is_wanted(&self) -> bool {
        self.exit_code
    }

    /// Fails if it is wanted and a filter that names functions selects no call: then no problem proves nothing.
    pub fn some_call_is_selected(&self, filter: &Filter, run_ends: &[FinishedRun]) -> Result<()> {
        let has_calls = |of: &FinishedRun| of.end.filtered.as_ref().is_none_or(|filtered| filtered.shown_calls > 0);
        if self.exit_code && filter.picks_functions() && !run_ends.iter().any(has_calls) {
            let text = filter.text();
            return Err(Error::own(format!(
                "the filter {text} selects no call, so whether there is a problem is not known; give another one"
            )));
        }
        Ok(())
    }

    /// Fails if it is wanted and calls may be missing that clear these problems.
    pub fn lacks_later_calls(&self, doubt: &str, problems: u64, run_ends: &[FinishedRun]) -> Result<()> {
        if self.exit_code { verdict::lacks_later_calls(doubt, problems, run_ends) } else { Ok(()) }
    }

    /// Ends with code 1 if it is wanted and there are leaks. It fails if that is not known. All output is written.
    pub fn end_of_leaks(&self, leaks: u64, has_calls: bool, run_ends: &[FinishedRun]) -> Result<()> {
        self.end_as(|| verdict::of_leaks(leaks, has_calls, run_ends))
    }

    /// Ends with code 1 if it is wanted and there are problems. It fails if that is not known. All output is written.
    pub fn end(&self, problems: u64, has_calls: bool, run_ends: &[FinishedRun]) -> Result<()> {
        self.end_as(|| verdict::of_problems(problems, has_calls, run_ends))
    }

    fn end_as(&self, has_problems: impl FnOnce() -> Result<bool>) -> Result<()> {
        if self.exit_code && has_problems()? {
            std::process::exit(1);
        }
        Ok(())
    }
}

/// A driver that cutap brings along.
#[derive(Debug, Args)]
pub struct DriverArgs {
    /// Run on the simulated driver: launches are accepted and not executed
    #[arg(long)]
    sim: bool,
    /// Run on the GPU by cutap's driver, without NVIDIA's libcuda
    #[arg(long, conflicts_with = "sim")]
    cudest: bool,
}

impl DriverArgs {
    /// Whether one is named.
    pub fn is_given(&self) -> bool {
        self.sim || self.cudest
    }

    /// The driver of the program. A machine without a usable GPU is refused before the program starts.
    pub fn choice(&self) -> Result<DriverChoice> {
        if self.sim {
            return Ok(DriverChoice::Simulated);
        }
        if !self.cudest {
            return Ok(DriverChoice::Installed);
        }
        let usable = Survey::new().and_then(Survey::usable_gpus);
        usable.map(|_| DriverChoice::Cudest).map_err(|why| Error::own(format!("--cudest cannot run here: {why}")))
    }
}

/// Hook libraries.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// Load this hook library, which may change calls; several in this order
    #[arg(long = "hook", value_name = "FILE", help_heading = heading::PROGRAM)]
    pub hooks: Vec<PathBuf>,
}

/// A program and how it is started.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    strace: StraceArgs,
    /// Leave child processes alone
    #[arg(long, help_heading = heading::PROGRAM)]
    no_follow_children: bool,
    #[command(flatten)]
    hooks: HookArgs,
    #[command(flatten)]
    inject: InjectArgs,
    #[command(flatten)]
    limit: LimitArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl ProgramArgs {
    /// The name of the program.
    pub fn program(&self) -> &OsStr {
        self.program.first().map_or(OsStr::new(""), |word| word)
    }

    /// The options of this program; everything else is as if no other flag was given.
    pub fn options(self) -> Result<TraceOptions> {
        self.options_with(&[])
    }

    /// The same with rules that stand elsewhere on the command line.
    pub fn options_with(self, rules: &[String]) -> Result<TraceOptions> {
        self.strace.check()?;
        refuse_recording(self.program())?;
        let silent = self.strace.quiet;
        let mut environment = self.limit.variables()?;
        environment.extend(self.strace.environment.into_iter().map(variable));
        let mut words = self.program.into_iter();
        Ok(TraceOptions {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            driver: self.driver.choice()?,
            no_follow: self.no_follow_children,
            hooks: self.hooks.hooks,
            limits: self.limit.limits()?,
            accounts: self.limit.accounts,
            injection: self.inject.injection(rules)?,
            silent,
            environment,
            ..TraceOptions::default()
        })
    }
}

/// Whether a thread may wait for room in its ring.
#[derive(Debug, Args)]
pub struct LossyArgs {
    /// Never wait: drop calls that do not fit, and count them
    #[arg(long, help_heading = heading::RECORDED)]
    lossy: bool,
}

impl LossyArgs {
    pub fn policy(&self) -> OverflowPolicy {
        if self.lossy { OverflowPolicy::Drop } else { OverflowPolicy::Wait }
    }
}

/// What happens when a thread makes calls faster than they can be written to the recording.
#[derive(Debug, Args)]
pub struct OverflowArgs {
    #[command(flatten)]
    lossy: LossyArgs,
    /// Keep the newest calls: SIZE (4M) a thread, TOTAL (1G) of ended ones
    #[arg(long, value_name = "SIZE[,TOTAL]", conflicts_with = "lossy", help_heading = heading::RECORDED)]
    flight_recorder: Option<FlightRecorderSize>,
}

impl OverflowArgs {
    pub fn policy(&self) -> OverflowPolicy {
        self.flight_recorder.map_or_else(|| self.lossy.policy(), OverflowPolicy::Overwrite)
    }
}

/// What `--stack` and `--python` without a filter stand for. No filter can be this text.
const OUTERMOST: &str = "<outermost>";

/// Of which calls the caller's stack is kept.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// Also keep the caller's stack: of the program's own calls, or of these
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = OUTERMOST)]
    stack: Option<String>,
    /// Also keep the lines of Python: of work, waits and errors, or of these
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = OUTERMOST)]
    python: Option<String>,
    /// How much of each stack is copied, 512 to 64K
    #[arg(long, value_name = "SIZE", requires = "stack", default_value = "8K", help_heading = heading::RECORDED)]
    stack_size: StackSize,
    /// The same as --stack, as in strace
    #[arg(short = 'k', conflicts_with = "stack", help_heading = heading::RECORDED)]
    k: bool,
}

impl StackArgs {
    /// Whether stacks are wanted.
    pub fn is_wanted(&self) -> bool {
        self.stack.is_some() || self.k
    }

    /// Of which calls the frames of Python are kept.
    pub fn python(&self) -> Option<Python> {
        self.python.clone().map(|text| Python { filter: Some(text).filter(|t| t != OUTERMOST) })
    }

    pub fn stacks(&self) -> Option<Stacks> {
        let size = self.stack_size;
        self.stack
            .clone()
            .or(self.k.then(|| OUTERMOST.to_owned()))
            .map(|text| Stacks { filter: Some(text).filter(|t| t != OUTERMOST), size })
    }
}

/// Whether the GPU's work is timed.
#[derive(Debug, Args)]
pub struct GpuTimeArgs {
    /// Also record the GPU's time of each kernel, copy and set, by CUPTI
    #[arg(long)]
    gpu_time: bool,
}

impl GpuTimeArgs {
    /// Whether times are wanted. Not every driver gives them.
    pub fn with(&self, driver: DriverChoice) -> Result<bool> {
        if self.gpu_time && driver == DriverChoice::Cudest {
            return Err(Error::own(
                "--cudest has no --gpu-time: NVIDIA's profiler knows only NVIDIA's libcuda; leave one of them out",
            ));
        }
        Ok(self.gpu_time)
    }
}

/// What becomes of calls that start no work.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Chatter {
    Count,
}

/// What becomes of calls that start no work.
#[derive(Debug, Args)]
pub struct ChatterArgs {
    /// count: count calls that start no work, as cudaGetDevice; record those that fail
    #[arg(long, value_name = "WORD", hide_possible_values = true)]
    chatter: Option<Chatter>,
}

impl ChatterArgs {
    /// They are counted.
    pub fn counts(&self) -> bool {
        matches!(self.chatter, Some(Chatter::Count))
    }
}

const CAPTURE_RANGE_HELP: &str = "Only in this range: cudaProfilerApi or nvtx:NAME[@DOMAIN]";

/// When calls are recorded, and where meanwhile.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    /// From cuProfilerStart to cuProfilerStop only (`cudaProfilerApi`), or in a range (`nvtx:NAME[@DOMAIN]`)
    #[arg(long, help = CAPTURE_RANGE_HELP, value_name = "RANGE", help_heading = heading::RECORDED)]
    capture_range: Option<CaptureRange>,
    /// Begin to record so long after the start: 2, 0.5 or 500ms
    #[arg(long, short = 'y', value_name = "TIME", value_parser = time, help_heading = heading::RECORDED)]
    delay: Option<Duration>,
    /// Stop recording after so long, as 5 or 500ms; the program runs on
    #[arg(long, short = 'd', value_name = "TIME", value_parser = time, help_heading = heading::RECORDED)]
    duration: Option<Duration>,
    #[command(flatten)]
    stack: StackArgs,
    #[command(flatten)]
    gpu_time: GpuTimeArgs,
    /// Use this run directory and keep it, for cutap show
    #[arg(long, value_name = "DIR", help_heading = heading::RECORDED)]
    run_dir: Option<PathBuf>,
}

impl CaptureArgs {
    /// Adds what was asked to the options of a program.
    pub fn add_to(self, options: TraceOptions) -> Result<TraceOptions> {
        let range = self.capture_range;
        let window = Window { delay: self.delay.unwrap_or_default(), duration: self.duration };
        let gpu_time = self.gpu_time.with(options.driver)?;
        let (stacks, python) = (self.stack.stacks(), self.stack.python());
        Ok(TraceOptions { range, window, stacks, python, gpu_time, run: self.run_dir, ..options })
    }
}

/// A time: a number of seconds, such as 2 or 0.5, or a number with a unit.
pub fn time(text: &str) -> std::result::Result<Duration, String> {
    let nanoseconds = cutap_quantity::nanoseconds(text).map(Duration::from_nanos);
    nanoseconds.ok_or_else(|| "give seconds, such as 2 or 0.5, or a unit: 500ms, 5m".to_owned())
}

/// A recording in the place of a program: the command that reads it.
fn refuse_recording(program: &OsStr) -> Result<()> {
    let path = Path::new(program);
    if !path.is_file() {
        return Ok(());
    }
    let mut magic = [0; 8];
    // A pipe that takes the file's place meanwhile is not waited for.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let read = opened.and_then(|mut file| file.read_exact(&mut magic));
    if read.is_ok() && u64::from_le_bytes(magic) == cutap_file::MAGIC {
        let path = path.display();
        return Err(Error::own(format!("{path} is a recording, not a program; cutap show {path} prints its calls")));
    }
    Ok(())
}

/// A number of rows or levels.
pub fn number(text: &str) -> std::result::Result<usize, String> {
    text.parse().map_err(|_| "give a number, such as 10".to_owned())
}
