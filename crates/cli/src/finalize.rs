//! `dwell finalize`: makes a result of raw records.

use std::path::PathBuf;
use std::process::ExitCode;

use dwell_resolve::{DebuginfodSettings, Mode, Options};
use dwell_store::{Folder, ResultFolder, Trace};
use indicatif::ProgressBar;

use crate::args::{FinalizationMode, FinalizeArgs, NamingArgs};
use crate::debuginfod;
use crate::error::{Hinted, Result, quoted};
use crate::kernel_symbols::KernelSymbols;
use crate::owner::Invoker;
use crate::progress;
use crate::reading::Reading;
use crate::terminal;

/// Refuses a mode that leaves for later what the command is for.
pub fn refuse_deferral(naming: &NamingArgs, action: &str) -> Result<()> {
    match naming.finalization_mode {
        FinalizationMode::Full | FinalizationMode::Fast => Ok(()),
        FinalizationMode::Deferred | FinalizationMode::None => {
            Err(Hinted::usage(format!("{action} cannot be deferred")).hint("--finalization-mode full or fast"))
        }
    }
}

/// Finalizes the result that the command line names.
pub fn run(args: &FinalizeArgs) -> Result<ExitCode> {
    refuse_deferral(&args.naming, "finalizing now")?;
    let kernel = KernelSymbols::take()?;
    let reading = Reading::of([&*args.result])?.writing_below(&args.result).fetching(debug_files());
    match Folder::open(&args.result) {
        Ok(folder) => reading.confine_as_owner(&folder)?,
        Err(_) => reading.confine()?, // opening the result says what is wrong with it
    }
    let folder = ResultFolder::open(&args.result)?;
    let naming = Naming { search_dirs: &args.naming.search_dir, mode: args.naming.finalization_mode, kernel: &kernel };
    let trace = run_on(&folder, &naming, args.quiet)?;
    if !args.quiet {
        for notice in &trace.notices.text {
            terminal::print_line(format_args!("dwell: {notice}"));
        }
        terminal::print_line(format_args!(
            "dwell: result {}; next: dwell report summary {}",
            folder.path().display(),
            quoted(folder.path())
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the debug files are kept that are fetched; `None` when none are.
pub fn debug_files() -> Option<PathBuf> {
    debuginfod().map(|settings| settings.cache)
}

fn debuginfod() -> Option<DebuginfodSettings> {
    debuginfod::settings(|name| std::env::var(name).ok())
}

/// How a result gets its names.
pub struct Naming<'a> {
    /// `--search-dir`.
    pub search_dirs: &'a [PathBuf],
    /// `--finalization-mode`.
    pub mode: FinalizationMode,
    /// The kernel's.
    pub kernel: &'a KernelSymbols,
}

/// Finalizes `folder` with a progress bar.
pub fn run_on(folder: &ResultFolder, args: &Naming<'_>, quiet: bool) -> Result<Trace> {
    let mode = args.mode;
    let fast = mode == FinalizationMode::Fast;
    let options = Options {
        search_dirs: args.search_dirs.to_vec(),
        debuginfod: debuginfod(),
        kernel: args.kernel.files(),
        mode: if fast { Mode::Fast } else { Mode::Full },
        inlines: !fast,
        keep_spool: false,
        reader: Invoker::of_sudo().map(|invoker| invoker.user()),
    };
    let bar = Bar(progress::bar(quiet));
    let trace = dwell_resolve::finalize(folder, &options, &bar)?;
    if trace.off_cpu.start_ns.len() + trace.samples.time_ns.len() >= dwell_analyze::INDEXED_EVENTS {
        dwell_resolve::Progress::step(&bar, "index", 0, 1);
        // Whoever opens the result says what is wrong with it, and makes the index that cannot be made here.
        drop(dwell_analyze::open(folder));
    }
    Ok(trace)
}

/// Finalization's bar on the terminal, or none.
struct Bar(Option<ProgressBar>);

impl dwell_resolve::Progress for Bar {
    fn step(&self, name: &'static str, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("finalizing: {name}"));
            bar.set_length(total.max(1));
            bar.set_position(done);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
