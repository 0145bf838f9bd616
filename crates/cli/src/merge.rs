//! `dwell merge`: the results of two hosts as one.

use std::path::Path;
use std::process::ExitCode;

use dwell_merge::Both;
use dwell_model::notice;
use dwell_store::tables::NoticeRow;
use dwell_store::{CodeTables, ResultFolder, Trace};

use crate::args::MergeArgs;
use crate::collect::SUFFIX;
use crate::error::{Hinted, Result, quoted};
use crate::reading::{self, Reading};
use crate::terminal;
use crate::text::units;

/// Offsets beyond which times would have no room.
const LONGEST_NS: u64 = 1 << 62;

/// Joins the results that the command line names.
pub fn run(args: &MergeArgs) -> Result<ExitCode> {
    let target = args.result_dir.as_deref().unwrap_or(Path::new("."));
    if args.result_dir.is_none() {
        reading::await_results_here()?;
    }
    Reading::of([&*args.first, &*args.second])?.writing_below(target).confine()?;
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let (offset_ns, how) = offset(&first.0, &second.0, args)?;
    if offset_ns.unsigned_abs() > LONGEST_NS {
        return Err(
            Hinted::usage("the offset is out of range").hint("--offset-ns takes nanoseconds between both starts")
        );
    }
    let connections = dwell_merge::connections(&first.0, &second.0);
    let hosts = format!("{} and {}", first.0.manifest.host, second.0.manifest.host);
    let Both { mut trace, code, connections } = dwell_merge::join(first, second, offset_ns, &connections);
    let linked = dwell_merge::link(&mut trace, &connections);
    let explained = dwell_merge::explain(&mut trace, &connections);
    let known = connections.len();
    let remark =
        notice!(OF_TWO_HOSTS, hosts = hosts, how = how, connections = known, linked = linked, explained = explained);
    trace.notices.push(NoticeRow::from(&remark));
    let folder = write(args, &mut trace, &code)?;
    if !args.quiet {
        terminal::print_line(format_args!("dwell: {remark}"));
        let path = folder.path();
        terminal::print_line(format_args!(
            "dwell: result {}; next: dwell report summary {}",
            path.display(),
            quoted(path)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<(Trace, CodeTables)> {
    let folder = ResultFolder::open(path)?;
    Ok((Trace::read(&folder)?, CodeTables::read(&folder)?))
}

/// The offset, and how it is known.
fn offset(first: &Trace, second: &Trace, args: &MergeArgs) -> Result<(i64, String)> {
    if let Some(offset_ns) = args.offset_ns {
        return Ok((offset_ns, format!("the second one's times are moved by {offset_ns} ns, as told")));
    }
    let connections = dwell_merge::connections(first, second);
    let bounds = dwell_merge::exchanges(first, second, &connections);
    let guess_ns = ((second.manifest.started_at - first.manifest.started_at) * 1e9) as i64;
    let Some(found) = dwell_merge::align(&bounds, guess_ns) else {
        let message = match connections.len() {
            0 => "both results have no connection in common, by which their clocks could be aligned".to_owned(),
            some => format!("on the {some} connections between both results nothing was asked and answered"),
        };
        let hint = "collect both at the same time with --analyze sockets, or name the offset with --offset-ns";
        return Err(Hinted::new(message).hint(hint));
    };
    let (moved, error) = (units::signed(found.offset_ns, units::duration), units::duration(found.error_ns));
    let how =
        format!("the second one's times are moved by {moved}, ± {error}, on which {} exchanges agree", found.agreeing);
    Ok((found.offset_ns, how))
}

fn write(args: &MergeArgs, trace: &mut Trace, code: &CodeTables) -> Result<ResultFolder> {
    let folder = match &args.result_dir {
        Some(path) => ResultFolder::create(path)?,
        None => ResultFolder::create_next(Path::new(""), SUFFIX)?,
    };
    if let Err(error) = trace.write(&folder, code) {
        let _ = folder.held().clone().delete(); // the error says why it is not there
        return Err(error.into());
    }
    let _ = folder.remove_spool(); // nothing raw is in it
    Ok(folder)
}
