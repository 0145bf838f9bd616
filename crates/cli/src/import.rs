//! `dwell import`: a result of what another profiler recorded.

use std::path::Path;
use std::process::ExitCode;

use dwell_import::PerfSource;
use dwell_store::ResultFolder;

use crate::args::ImportArgs;
use crate::error::{Hinted, Result, quoted};
use crate::finalize::{self, Naming};
use crate::kernel_symbols::KernelSymbols;
use crate::reading::{self, Reading};
use crate::terminal;

/// What the numbered folders of imported results end with.
const SUFFIX: &str = "im";

/// Imports the file that the command line names.
pub fn run(args: &ImportArgs) -> Result<ExitCode> {
    finalize::refuse_deferral(&args.naming, "importing")?;
    let kernel = KernelSymbols::take()?;
    let target = args.result_dir.as_deref().unwrap_or(Path::new("."));
    if args.result_dir.is_none() {
        reading::await_results_here()?;
    }
    let is_pipe = args.file == Path::new("-");
    let files = Some(&*args.file).filter(|_| !is_pipe);
    Reading::of(files)?.writing_below(target).fetching(finalize::debug_files()).confine()?;
    let opened = if is_pipe { PerfSource::of_pipe(Box::new(std::io::stdin())) } else { PerfSource::open(&args.file) };
    let source = opened.map_err(|error| explain(error, args))?;
    let folder = match &args.result_dir {
        Some(path) => ResultFolder::create(path)?,
        None => ResultFolder::create_next(Path::new(""), SUFFIX)?,
    };
    let filled = fill(source, &folder, &kernel, args);
    if filled.is_err() {
        let _ = folder.held().clone().delete(); // the error says why it is not there
    }
    filled?;
    let path = folder.path();
    if !args.quiet {
        let path = path.display();
        terminal::print_line(format_args!(
            "dwell: result {path}; next: dwell report summary {}",
            quoted(folder.path())
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn fill(source: PerfSource, folder: &ResultFolder, kernel: &KernelSymbols, args: &ImportArgs) -> Result<()> {
    let symbols = || dwell_files::open_regular(&kernel.files().kallsyms).ok();
    dwell_import::import(source, folder, symbols, &dwell_capture::boot_id()).map_err(|error| explain(error, args))?;
    let naming = Naming { search_dirs: &args.naming.search_dir, mode: args.naming.finalization_mode, kernel };
    let trace = finalize::run_on(folder, &naming, args.quiet)?;
    if !args.quiet {
        trace.notices.text.iter().for_each(|notice| terminal::print_line(format_args!("dwell: {notice}")));
    }
    Ok(())
}

fn explain(error: dwell_import::Error, args: &ImportArgs) -> Hinted {
    use dwell_import::Error as E;
    let hinted = Hinted::new(format!("{}: {error}", args.file.display()));
    match error {
        E::NotPerf(_) => {
            hinted.hint("perf record -g --switch-events -- PROGRAM writes a perf.data that can be imported")
        }
        E::Damaged(_) => hinted.hint("perf script -i FILE says whether perf itself can read it"),
        E::Lacks(_) => {
            hinted.hint("perf record -a -g -e cpu-clock -e sched:sched_switch -e sched:sched_waking -- PROGRAM")
        }
        E::Io(_) => hinted.hint("perf record -o FILE writes it; only regular files and - are read"),
        E::Store(error) => error.into(),
    }
}
