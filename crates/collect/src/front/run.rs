//! The run directory of `trace` and `record`, with what the run was asked.

use crate::base::error::{Error, Result, cannot};
use crate::base::trusted::random_name;
use crate::front::request::Request;
use crate::front::trace_options::TraceOptions;
use crate::hooks;
use crate::inject;
use crate::limit;
use crate::run_dir::control::{self, RunSettings};
use crate::run_dir::folder;
use crate::start::injection_way::InjectionWay;
use cutap_trace::RunPath;
use std::cell::Cell;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The run directory of this trace; removed at the end unless a person named it, or it holds the rest.
pub struct Run {
    pub path: PathBuf,
    pub dir: RunPath,
    pub temporary: bool,
    keep: Cell<bool>,
}

impl Run {
    /// Makes it, or uses the one that `options` name.
    pub fn new(options: &TraceOptions, request: &Request) -> Result<Run> {
        let Request { filter, stacks, hooks, python, .. } = request;
        let modules = options.dump_modules.as_deref().map(module_folder).transpose()?;
        let settings = RunSettings {
            filter,
            no_follow: options.no_follow,
            dump_modules: modules.is_some(),
            full: options.full,
            only_hooks: options.form.only_hooks,
            range: options.range.as_ref(),
            count: options.form.counts,
            summary: options.form.summary,
            stacks,
            python: python.as_deref(),
            off: !options.window.delay.is_zero(),
            gpu_time: options.gpu_time,
            answers_driver: options.gpu_time && InjectionWay::of(options.driver) == InjectionWay::Answer,
            count_chatter: options.count_chatter,
            driver: options.driver,
        };
        let page = control::page(settings)?;
        let run = match &options.run {
            Some(path) => Run::in_dir(folder::named(path, "--run-dir")?, false),
            None => Run::in_dir(folder::fresh()?, true),
        };
        control::write(&run.dir, &page, filter)?;
        control::write_python(&run.dir, python.as_deref().unwrap_or_default())?;
        if !hooks.0.is_empty() {
            control::write_hooks(&run.dir, &hooks::file(hooks))?;
        }
        if !options.injection.is_empty() {
            control::write_injected(&run.dir, &inject::file_bytes(&options.injection)?)?;
        }
        if !options.limits.is_empty() {
            let accounts = limit::accounts(options.accounts.as_deref(), &run.path)?;
            control::write_limit(&run.dir, &limit::file_bytes(&options.limits, &accounts)?)?;
        }
        if let Some(range) = &options.range {
            control::write_capture_range(&run.dir, range)?;
        }
        if !options.kernel_answers.is_empty() {
            control::write_kernel_answers(&run.dir, &options.kernel_answers)?;
        }
        if let Some(target) = modules {
            run.dir.join("modules").make_link(&target).map_err(|e| {
                cannot("link the modules into", &run.path, &e, "choose another folder with --run-dir DIR")
            })?;
        }
        Ok(run)
    }
    fn in_dir(dir: RunPath, temporary: bool) -> Run {
        Run { path: dir.path(), dir, temporary, keep: Cell::new(!temporary) }
    }
    /// It stays when this is dropped.
    pub fn keep(&self) {
        self.keep.set(true);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.keep.get() {
            self.dir.let_go();
            // An empty one needs no descriptor.
            let _ = std::fs::remove_dir_all(&self.path).or_else(|_| std::fs::remove_dir(&self.path));
        }
    }
}

fn module_folder(path: &Path) -> Result<PathBuf> {
    let advice = "give a folder that you may write with --dump-modules DIR";
    let fail = |e| cannot("keep modules in", path, &e, advice);
    if path.exists() && !path.is_dir() {
        let path = path.display();
        return Err(Error::own(format!("cannot keep modules in {path}: it is there and is not a folder; {advice}")));
    }
    DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(fail)?;
    let path = std::fs::canonicalize(path).map_err(fail)?;
    let probe = path.join(format!(".cutap-{}", random_name()));
    File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe)).map_err(fail)?;
    Ok(path)
}
