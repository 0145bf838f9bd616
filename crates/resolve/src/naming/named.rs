//! The named tables, and how they are made: modules, symbols, stacks, then objects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dwell_model::TaskTypeId;
use dwell_model::{ModuleId, Notice, RUN_TIME_CODE};
use dwell_store::tables::{Frames, TaskTypes};
use dwell_store::{CodeTables, Manifest};

use super::notices;
use super::plan::SymbolRequests;
use super::raw::ReplayedTrace;
use super::task_types::{TypeNames, type_table};
use crate::code::access::{ReaderAccess, User};
use crate::code::debug_files::DebugFiles;
use crate::code::debuginfod::Debuginfod;
use crate::code::function::DataSymbol;
use crate::code::jit::{self, Jit};
use crate::code::mappings::Mappings;
use crate::code::modules::{ModuleProblem, Modules, Places};
use crate::code::scripts::Functions;
use crate::code::sites::{Site, Sites, place_in};
use crate::code::stacks::{SiteFunctions, StackTable, build_stacks};
use crate::code::symbol_reader::Depth;
use crate::code::symbols::{Answer, DebugFileSources, symbolize};
use crate::hash::FastMap;
use crate::input::annotation_event::TaskName;
use crate::input::meta::RawStack;
use crate::listing::code_tables;
use crate::listing::source_files::{self, Origin};
use crate::objects::{self, ObjectSources, ResolvedObjects, StackFrames};
use crate::options::{Mode, Options};
use crate::progress::Progress;
use crate::replay::annotations::TypeKey;
use crate::replay::numbers::TypeNumber;
use crate::replay::threads::ImageId;
use crate::row_of::RowOf;

/// The named tables.
pub struct Named {
    /// Code.
    pub woven: StackTable,
    /// Objects.
    pub objects: ResolvedObjects,
    /// What tasks are called.
    pub task_types: TaskTypes,
    /// The row of each type of tasks.
    pub task_type_rows: RowOf<TypeNumber, TaskTypeId>,
    /// Files that changed since the collection.
    pub changed_files: u64,
    /// Files that could not be read although threads ran their code.
    pub unreadable_files: u64,
    /// Stacks that no record explains.
    pub missing_stacks: u64,
    /// Machine code, lines and sources of what threads were in.
    pub code: CodeTables,
    /// Remarks.
    pub notices: Vec<Notice>,
}

/// Names everything. `announced_code` is what each process, by its id, told of code that it made.
pub fn name(
    raw: &ReplayedTrace<'_>,
    announced_code: Vec<(u32, Vec<jit::CodePiece>)>,
    options: &Options,
    progress: &dyn Progress,
) -> Named {
    let relative = |time_ns| raw.replay.relative(time_ns);
    let mut modules = Modules::default();
    let mut mappings = Mappings::new(&raw.meta.maps, &raw.replay.thread_table, &mut modules, &relative);
    let kept = raw.folder.modules().ok();
    let places = Places { search_dirs: &options.search_dirs, modules: kept.as_ref(), ended: ended_at(raw.manifest) };
    let problems = modules.locate(&places, &mut ReaderAccess::of(options.reader));
    modules.name_after_links(raw.replay.thread_table.programs());
    let scripts = Functions::new(raw.meta, &mut modules); // after: its files are not ELF files
    let mut jit = Jit::load(kept.as_ref(), &raw.replay.thread_table, &mut modules, &relative);
    for code in announced_code {
        jit.add_announced(code, &raw.replay.thread_table, &mut modules, &relative);
    }
    let jit = Arc::new(jit);
    let mut sites = Sites::default();
    let mut place = place_in(&raw.replay.thread_table, &mut mappings, &modules, &jit, &relative);
    sites.collect(raw.replay.stacks.keys(), raw.meta, &mut place);
    let task_functions = task_functions(raw, &mut sites, &mut place);
    drop(place);

    let debug_notices = find_debug_files(&mut modules, &sites, options, progress);
    let full = options.mode == Mode::Full;
    let mut plan = SymbolRequests::new(raw, &modules, &mappings, &sites, &jit);
    if full {
        plan.set_shares(&sites.shares(&stack_shares(raw), raw.replay.stacks.keys()));
    }
    let depth = Depth { debug_info: full, inlines: options.inlines };
    let answers = {
        let elsewhere = DebugFileSources { debug_dirs: &options.search_dirs, kernel: &options.kernel };
        symbolize(&plan.requests, depth, elsewhere, progress)
    };
    let names = SiteFunctions::new(&plan.sites, &answers, &scripts);
    let woven = build_stacks(raw.replay.stacks.keys(), raw.meta, &sites, &modules, &names);
    let symbols = plan.data_symbols(&answers);
    let objects = name_objects(raw, &woven, &modules, &symbols);
    let (task_types, task_type_rows) = name_tasks(raw, &task_functions, &names);
    let code = listing_tables(raw, &modules, (&answers, &woven.frames), options);
    Named {
        woven,
        objects,
        task_types,
        task_type_rows,
        code,
        notices: [
            jit.notices.clone(),
            debug_notices,
            notices::unnamed_code(raw, &modules, &sites).into_iter().collect(),
            notices::kernel_without_names(raw, &plan, &options.kernel),
            notices::of_files(&modules, &problems, &plan, &answers),
        ]
        .concat(),
        unreadable_files: notices::unreadable(&modules, &problems, &plan),
        changed_files: problems.iter().filter(|(_, problem)| matches!(problem, ModuleProblem::Changed(_))).count()
            as u64,
        missing_stacks: sites.missing,
    }
}

/// For each type of tasks that a function names, the function's site.
fn task_functions(
    raw: &ReplayedTrace<'_>,
    sites: &mut Sites,
    place: &mut dyn FnMut(RawStack, u64) -> (u32, u64),
) -> Vec<Option<usize>> {
    let types = raw.replay.annotations.tasks.types.keys().iter();
    let site = |key: &TypeKey| {
        let TaskName::Function(address) = key.name else { return None };
        let image = raw.replay.thread_table.images.get(key.image as usize)?;
        let time_ns = raw.manifest.start_ns.saturating_add(image.start_ns);
        let (module, address) = place(RawStack::without_frames(image.tgid, time_ns), address);
        Some(sites.sites.intern(Site { module, address, exact: true }))
    };
    types.map(site).collect()
}

fn name_tasks(
    raw: &ReplayedTrace<'_>,
    sites: &[Option<usize>],
    names: &SiteFunctions<'_>,
) -> (TaskTypes, RowOf<TypeNumber, TaskTypeId>) {
    let function = |site: &Option<usize>| Some(names.function((*site)?)?.name.clone());
    let functions: Vec<Option<String>> = sites.iter().map(function).collect();
    let names = TypeNames {
        texts: &raw.meta.itt.texts,
        hits: &raw.manifest.probes,
        probes: &raw.manifest.task_probes,
        functions: &functions,
    };
    type_table(raw.replay.annotations.tasks.types.keys(), &names)
}

/// For each raw stack its share of all CPU time, or of all wait time where that is more.
fn stack_shares(raw: &ReplayedTrace<'_>) -> Vec<f64> {
    let mut times = vec![(0u64, 0u64); raw.replay.stacks.keys().len()];
    for (stack, weight_ns) in raw.samples.stack.iter().zip(&raw.samples.weight_ns) {
        if let Some(time) = stack.get().and_then(|number| times.get_mut(number)) {
            time.0 = time.0.saturating_add(*weight_ns);
        }
    }
    for (stack, wait_ns) in raw.off_cpu.stack.iter().zip(&raw.off_cpu.wait_ns) {
        if let Some(time) = stack.get().and_then(|number| times.get_mut(number)) {
            time.1 = time.1.saturating_add(*wait_ns);
        }
    }
    let (cpu_ns, wait_ns) = times.iter().fold((0.0, 0.0), |sum, time| (sum.0 + time.0 as f64, sum.1 + time.1 as f64));
    let share =
        |&(cpu, wait): &(u64, u64)| (cpu as f64 / f64::max(cpu_ns, 1.0)).max(wait as f64 / f64::max(wait_ns, 1.0));
    times.iter().map(share).collect()
}

/// The listings as tables, with the text of the files that they name.
fn listing_tables(
    raw: &ReplayedTrace<'_>,
    modules: &Modules,
    (answers, frames): (&[Answer], &Frames),
    options: &Options,
) -> CodeTables {
    if options.mode != Mode::Full {
        return CodeTables::default();
    }
    let mut tables = code_tables::tables(answers, modules);
    let origins = modules.all().iter().map(|module| match &module.file {
        // A copy of the collector's does not say whose the file was.
        Some(file) if file.starts_with(raw.folder.path().join("modules")) => Origin::unknown(),
        Some(file) => Origin::of_file(file),
        None => Origin::unknown(),
    });
    let reader = options.reader.unwrap_or_else(User::current);
    let mut files = source_files::SourceReader::new(&options.search_dirs, reader);
    files.fill_all(&mut tables, &origins.collect::<Vec<_>>());
    // The files of interpreted functions, and of code made at run time, are named by the process: by its user, when Dwell started it as the
    // result's.
    let manifest = raw.manifest;
    let launched = !manifest.command.is_empty() && manifest.target_pids.is_empty();
    let as_reader = launched && !manifest.options.iter().any(|option| option.starts_with("--user"));
    let origin = if as_reader { Origin { namer: reader, ..Origin::unknown() } } else { Origin::unknown() };
    let is_of_run_time = |module: &ModuleId| {
        module.get().and_then(|row| modules.all().get(row)).is_some_and(|module| module.path.starts_with(RUN_TIME_CODE))
    };
    let made = frames.file.iter().zip(frames.script.iter().zip(&frames.module));
    let made = made.filter(|(file, (script, module))| !file.is_empty() && (**script || is_of_run_time(module)));
    files.add(&mut tables.sources, made.map(|(file, _)| file.as_str()), &origin);
    tables
}

/// Finds the debug files of the modules that code was seen in. Returns remarks.
fn find_debug_files(modules: &mut Modules, sites: &Sites, options: &Options, progress: &dyn Progress) -> Vec<Notice> {
    if options.mode == Mode::Fast {
        return Vec::new();
    }
    let servers = options.debuginfod.clone().map(Debuginfod::new);
    let mut debug_files = DebugFiles::new(&options.search_dirs, ReaderAccess::of(options.reader), servers);
    let used: BTreeSet<u32> = sites.sites.keys().iter().map(|site| site.module).collect();
    for (done, number) in used.iter().enumerate() {
        progress.step("debug files", done as u64, used.len() as u64);
        if let Some(module) = modules.get_mut(*number).filter(|module| module.is_file()) {
            module.debug_file = debug_files.find(module);
        }
    }
    debug_files.take_notices()
}

fn ended_at(manifest: &Manifest) -> Option<SystemTime> {
    if manifest.end_ns == 0 || !manifest.started_at.is_finite() || manifest.started_at <= 0.0 {
        return None;
    }
    let lasted = Duration::from_nanos(manifest.end_ns.saturating_sub(manifest.start_ns));
    let started = Duration::try_from_secs_f64(manifest.started_at).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(started)?.checked_add(lasted)
}

fn name_objects(
    raw: &ReplayedTrace<'_>,
    woven: &StackTable,
    modules: &Modules,
    symbols: &FastMap<(ImageId, u64), DataSymbol>,
) -> ResolvedObjects {
    let code = StackFrames { stacks: &woven.stacks, frames: &woven.frames, modules };
    let sources = ObjectSources {
        code,
        stacks: &woven.rows,
        meta: raw.meta,
        thread_table: &raw.replay.thread_table,
        symbols,
        off_cpu: raw.off_cpu,
        fibers: &raw.fibers.off_cpu,
        announced: &raw.replay.annotations.sync.objects,
        texts: &raw.meta.itt.texts,
        creations: &raw.replay.creations,
    };
    objects::resolve(raw.replay.waits.keys(), &raw.replay.first_waits, &sources)
}
