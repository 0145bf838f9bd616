//! Gives names to everything that the replay left as numbers: modules, symbols, stacks, then objects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dwell_model::{ObjectId, StackId, TaskTypeId};
use dwell_store::tables::{Frames, OffCpu, Samples, TaskTypes};
use dwell_store::{Annotations, CodeTables, Manifest, ResultFolder};
use rayon::prelude::*;

use crate::annotations::{TaskName, TypeKey, TypeNames, Unnamed, type_table};
use crate::debug_files::DebugFiles;
use crate::debuginfod::Debuginfod;
use crate::delays::tells_functions;
use crate::function::DataSymbol;
use crate::hash::FastMap;
use crate::input::{Meta, RawStack};
use crate::jit::{self, Jit, how_to_name};
use crate::kernel::{KernelFiles, KernelMap};
use crate::listing;
use crate::lives::ImageId;
use crate::mappings::Mappings;
use crate::modules::{KERNEL, Module, Modules, Places, Problem};
use crate::objects::{self, Code, Resolved, Sources, data_addresses};
use crate::options::{Mode, Options};
use crate::progress::Progress;
use crate::python::Functions;
use crate::replay::Replay;
use crate::source_files::{self, Origin, User};
use crate::stacks::{Names, Site, Sites, Woven, place_in, weave};
use crate::symbols::{Answer, Depth, Elsewhere, Place, Request, symbolize};

/// Most notices of one kind; the rest is counted in the last one.
const MOST_NOTICES: usize = 20;
/// So many addresses outside of all files are trampolines, not what a program spends its time in.
const FEW_UNNAMED: usize = 3;

/// The named tables.
pub struct Named {
    /// Code.
    pub woven: Woven,
    /// Objects.
    pub objects: Resolved,
    /// What tasks are called.
    pub task_types: TaskTypes,
    /// The row of each type of tasks.
    pub task_type_ids: Vec<TaskTypeId>,
    /// Files that changed since the collection.
    pub changed_files: u64,
    /// Files with code that was seen and that could not be read.
    pub unreadable_files: u64,
    /// Stacks that no record explains.
    pub missing_stacks: u64,
    /// Machine code, lines and sources of what threads were in.
    pub code: CodeTables,
    /// Remarks.
    pub notices: Vec<String>,
}

impl Named {
    /// The stack of a raw one's number.
    pub fn stack(&self, number: StackId) -> StackId {
        number.get().and_then(|number| self.woven.ids.get(number)).copied().unwrap_or(StackId::NONE)
    }
}

/// What naming reads.
pub struct Raw<'a> {
    /// The result's folder.
    pub folder: &'a ResultFolder,
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// Stacks, mappings and objects.
    pub meta: &'a Meta,
    /// The replayed trace.
    pub replay: &'a Replay,
    /// The intervals, still with raw numbers.
    pub off_cpu: &'a OffCpu,
    /// The samples, still with raw numbers.
    pub samples: &'a Samples,
}

/// Names everything. `told_code` is what each process, by its id, told of code that it made.
pub fn name(raw: &Raw<'_>, told_code: Vec<(u32, Vec<jit::Code>)>, options: &Options, progress: &dyn Progress) -> Named {
    let relative = |time_ns| raw.replay.relative(time_ns);
    let mut modules = Modules::default();
    let mut mappings = Mappings::new(&raw.meta.maps, &raw.replay.lives, &mut modules, &relative);
    let kept = raw.folder.modules().ok();
    let places = Places { search_dirs: &options.search_dirs, modules: kept.as_ref(), ended: ended_at(raw.manifest) };
    let problems = modules.locate(&places);
    let python = Functions::new(raw.meta, &mut modules); // after: its files are not ELF files
    let mut jit = Jit::load(kept.as_ref(), &raw.replay.lives, &mut modules, &relative);
    for told in told_code {
        jit.add_told(told, &raw.replay.lives, &mut modules, &relative);
    }
    let jit = Arc::new(jit);
    let mut sites = Sites::default();
    let mut place = place_in(&raw.replay.lives, &mut mappings, &modules, &jit, &relative);
    sites.collect(raw.replay.stacks.keys(), raw.meta, &mut place);
    let task_functions = task_functions(raw, &mut sites, &mut place);
    drop(place);

    let debug_notices = find_debug_files(&mut modules, &sites, options, progress);
    let full = options.mode == Mode::Full;
    let mut plan = Plan::new(raw, &modules, &mappings, &sites, &jit);
    if full {
        plan.set_shares(&sites.shares(&stack_shares(raw), raw.replay.stacks.keys()));
    }
    let depth = Depth { debug_info: full, inlines: options.inlines };
    let answers = {
        let elsewhere = Elsewhere { debug_dirs: &options.search_dirs, kernel: &options.kernel };
        symbolize(&plan.requests, depth, elsewhere, progress)
    };
    let names = Names::new(&plan.sites, &answers, &python);
    let woven = weave(raw.replay.stacks.keys(), raw.meta, &sites, &modules, &names);
    let symbols = plan.data_symbols(&answers);
    let objects = name_objects(raw, &woven, &modules, &symbols);
    let (task_types, task_type_ids) = name_tasks(raw, &task_functions, &names);
    let code = listing_tables(raw, &modules, (&answers, &woven.frames), options);
    Named {
        woven,
        objects,
        task_types,
        task_type_ids,
        code,
        notices: [
            jit.notices.clone(),
            debug_notices,
            unnamed_code(raw, &modules, &sites).into_iter().collect(),
            kernel_without_names(raw, &plan, &options.kernel),
            notices(&modules, &problems, &plan, &answers),
        ]
        .concat(),
        unreadable_files: unreadable(&modules, &problems, &plan),
        changed_files: problems.iter().filter(|(_, problem)| matches!(problem, Problem::Changed(_))).count() as u64,
        missing_stacks: sites.missing,
    }
}

/// For each type of tasks that a function names, the function's site.
fn task_functions(
    raw: &Raw<'_>,
    sites: &mut Sites,
    place: &mut dyn FnMut(RawStack, u64) -> (u32, u64),
) -> Vec<Option<usize>> {
    let types = raw.replay.told.tasks.types.keys().iter();
    let site = |key: &TypeKey| {
        let TaskName::Function(address) = key.name else { return None };
        let image = raw.replay.lives.images.get(key.image as usize)?;
        let time_ns = raw.manifest.start_ns.saturating_add(image.start_ns);
        let (module, address) = place(RawStack::without_frames(image.tgid, time_ns), address);
        Some(sites.sites.intern(Site { module, address, exact: true }))
    };
    types.map(site).collect()
}

fn name_tasks(raw: &Raw<'_>, sites: &[Option<usize>], names: &Names<'_>) -> (TaskTypes, Vec<TaskTypeId>) {
    let function = |site: &Option<usize>| Some(names.function((*site)?)?.name.clone());
    let functions: Vec<Option<String>> = sites.iter().map(function).collect();
    let names = TypeNames { texts: &raw.meta.itt.texts, probes: &raw.manifest.task_probes, functions: &functions };
    type_table(raw.replay.told.tasks.types.keys(), &names)
}

/// For each raw stack its share of all CPU time, or of all wait time where that is more.
fn stack_shares(raw: &Raw<'_>) -> Vec<f64> {
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
    raw: &Raw<'_>,
    modules: &Modules,
    (answers, frames): (&[Answer], &Frames),
    options: &Options,
) -> CodeTables {
    if options.mode != Mode::Full {
        return CodeTables::default();
    }
    let mut tables = listing::tables(answers, modules);
    let origins = modules.all().iter().map(|module| match &module.file {
        // A copy of the collector's does not say whose the file was.
        Some(file) if file.starts_with(raw.folder.path().join("modules")) => Origin::unknown(),
        Some(file) => Origin::of_file(file),
        None => Origin::unknown(),
    });
    let reader = options.reader.unwrap_or_else(User::current);
    let mut files = source_files::Reader::new(&options.search_dirs, reader);
    files.fill_all(&mut tables, &origins.collect::<Vec<_>>());
    // Interpreted functions' files are named by the process: by its user, when Dwell started it as the result's.
    let manifest = raw.manifest;
    let launched = !manifest.command.is_empty() && manifest.target_pids.is_empty();
    let as_reader = launched && !manifest.options.iter().any(|option| option.starts_with("--user"));
    let origin = if as_reader { Origin { namer: reader, ..Origin::unknown() } } else { Origin::unknown() };
    let interpreted = frames.file.iter().zip(&frames.python).filter(|(file, python)| **python && !file.is_empty());
    files.add(&mut tables.sources, interpreted.map(|(file, _)| file.as_str()), &origin);
    tables
}

/// Finds the debug files of the modules that code was seen in. Returns remarks.
fn find_debug_files(modules: &mut Modules, sites: &Sites, options: &Options, progress: &dyn Progress) -> Vec<String> {
    if options.mode == Mode::Fast {
        return Vec::new();
    }
    let servers = options.debuginfod.clone().map(Debuginfod::new);
    let mut debug_files = DebugFiles::new(&options.search_dirs, servers);
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

/// What is asked of each module, and for whom.
struct Plan {
    requests: Vec<Request>,
    /// For each request, the sites of its code addresses.
    sites: Vec<Vec<u32>>,
    /// For each request, the images and addresses of its data addresses.
    data: Vec<Vec<(ImageId, u64)>>,
    /// Modules that some code or data lies in.
    used: Vec<bool>,
}

impl Plan {
    fn new(raw: &Raw<'_>, modules: &Modules, mappings: &Mappings, sites: &Sites, jit: &Arc<Jit>) -> Self {
        let count = modules.all().len();
        let requests = (0..count as u32).map(|number| Request {
            place: place_of(raw.manifest, modules, number, jit),
            code: Vec::new(),
            data: Vec::new(),
            shares: Vec::new(),
        });
        let mut plan = Self {
            requests: requests.collect(),
            sites: vec![Vec::new(); count],
            data: vec![Vec::new(); count],
            used: vec![false; count],
        };
        for (number, site) in sites.sites.keys().iter().enumerate() {
            let Some(request) = plan.requests.get_mut(site.module as usize) else { continue };
            request.code.push(site.lookup());
            plan.sites[site.module as usize].push(number as u32);
            plan.used[site.module as usize] = true;
        }
        for (image, address) in data_addresses(raw.replay.waits.keys(), &raw.replay.told.sync.objects) {
            let Some((module, inside)) = mappings.find_data(image, address, modules) else { continue };
            plan.requests[module as usize].data.push(inside);
            plan.data[module as usize].push((image, address));
        }
        plan
    }

    /// Says of each code address which share of the time its stacks have. `shares` is by site.
    fn set_shares(&mut self, shares: &[f64]) {
        for (request, sites) in self.requests.iter_mut().zip(&self.sites) {
            request.shares = sites.iter().map(|&site| shares[site as usize]).collect();
        }
    }

    fn data_symbols(&self, answers: &[Answer]) -> FastMap<(ImageId, u64), DataSymbol> {
        let pairs = self.data.iter().zip(answers);
        let found = pairs.flat_map(|(waited, answer)| waited.iter().zip(&answer.data));
        found.filter_map(|(&waited, symbol)| Some((waited, symbol.clone()?))).collect()
    }
}

fn place_of(manifest: &Manifest, modules: &Modules, number: u32, jit: &Arc<Jit>) -> Place {
    if number == KERNEL {
        return if is_this_boot(manifest) { Place::Kernel } else { Place::None };
    }
    if jit.is_module(number) {
        return Place::Jit(Arc::clone(jit));
    }
    let module = modules.get(number);
    let file = module.and_then(|module| Some(Place::File(module.file.clone()?, module.debug_file.clone())));
    file.unwrap_or(Place::None)
}

/// Kernel addresses mean something only until the machine is started again.
pub fn is_this_boot(manifest: &Manifest) -> bool {
    let now = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    !manifest.boot_id.trim().is_empty() && now.trim() == manifest.boot_id.trim()
}

fn name_objects(
    raw: &Raw<'_>,
    woven: &Woven,
    modules: &Modules,
    symbols: &FastMap<(ImageId, u64), DataSymbol>,
) -> Resolved {
    let code = Code { stacks: &woven.stacks, frames: &woven.frames, modules };
    let sources = Sources {
        code,
        stacks: &woven.ids,
        meta: raw.meta,
        lives: &raw.replay.lives,
        symbols,
        off_cpu: raw.off_cpu,
        told: &raw.replay.told.sync.objects,
        texts: &raw.meta.itt.texts,
    };
    objects::resolve(raw.replay.waits.keys(), &raw.replay.first_waits, &sources)
}

/// Says how code that was made at run time gets names, when there is much without.
fn unnamed_code(raw: &Raw<'_>, modules: &Modules, sites: &Sites) -> Option<String> {
    let unnamed = |site: &&Site| modules.get(site.module).is_some_and(Module::is_anonymous);
    let count = sites.sites.keys().iter().filter(unnamed).count();
    if count < FEW_UNNAMED {
        return None;
    }
    let mut processes = raw.replay.lives.images.iter().map(|image| raw.replay.lives.process_name(image.process));
    let how = processes.find_map(how_to_name).unwrap_or("see docs/symbols.md for what its runtime offers");
    Some(format!("Code made at run time has no names ({count} addresses): {how}."))
}

/// How many files could not be read that code was seen in.
fn unreadable(modules: &Modules, problems: &[(u32, Problem)], plan: &Plan) -> u64 {
    let missing = problems.iter().filter(|(_, problem)| matches!(problem, Problem::Missing));
    let seen = missing.filter(|(number, _)| plan.used.get(*number as usize).copied().unwrap_or(false));
    seen.filter(|(number, _)| modules.get(*number).is_some_and(Module::is_file)).count() as u64
}

fn notices(modules: &Modules, problems: &[(u32, Problem)], plan: &Plan, answers: &[Answer]) -> Vec<String> {
    let used = |number: u32| plan.used.get(number as usize).copied().unwrap_or(false);
    let mut notices = Vec::new();
    for (number, problem) in problems.iter().filter(|(number, _)| used(*number)) {
        let Some(module) = modules.get(*number) else { continue };
        let path = &module.path;
        match problem {
            Problem::Changed(file) => notices.push(format!(
                "{} is not the file that was profiled as {path} (its build id or date differs): code in it has no names.",
                file.display()
            )),
            Problem::Missing if path.starts_with('/') && !path.starts_with("//") => notices.push(format!(
                "{path} could not be read: code in it has no names; give its folder with --search-dir."
            )),
            Problem::Missing => {}
        }
    }
    for (number, answer) in answers.iter().enumerate() {
        let path = modules.all().get(number).map_or("", |module| &module.path);
        if let (Some(reason), false) = (&answer.failure, matches!(plan.requests[number].place, Place::None)) {
            notices.push(format!("The symbols of {path} could not be read: {reason}."));
        }
        if let Some(reason) = &answer.without_lines {
            notices.push(format!(
                "The debug information of {path} is not read: {reason}. Names are of its symbol table, without source lines."
            ));
        }
    }
    let left_out: usize = answers.iter().map(|answer| answer.listings.left_out).sum();
    if left_out > 0 {
        notices.push(format!(
            "{left_out} functions that threads were in are not listed by dwell source: their code is too large."
        ));
    }
    let more = notices.len().saturating_sub(MOST_NOTICES);
    notices.truncate(MOST_NOTICES);
    if more > 0 {
        notices.push(format!("{more} more files have no symbols."));
    }
    notices
}

/// Why functions of the kernel have no names, when any are to be named.
fn kernel_without_names(raw: &Raw<'_>, plan: &Plan, files: &KernelFiles) -> Vec<String> {
    let is_used = plan.used.get(KERNEL as usize).copied().unwrap_or(false);
    let why = if !is_used && !tells_functions(&raw.meta.delays) {
        None
    } else if !is_this_boot(raw.manifest) {
        Some("The machine was restarted since the collection: kernel code has no names.")
    } else if KernelMap::read(files).is_hidden() {
        Some(
            "Kernel code has no names: /proc/kallsyms hides addresses from this user (kernel.kptr_restrict, CAP_SYSLOG). \
             Block I/O and locks in the kernel are not told apart, nor what other CPUs interrupted for.",
        )
    } else {
        None
    };
    why.map(str::to_owned).into_iter().collect()
}

/// Replaces the raw numbers of the intervals by rows of the named tables.
pub fn renumber(off_cpu: &mut OffCpu, samples: &mut Samples, named: &Named) {
    let stack = |id: &mut StackId| *id = named.stack(*id);
    let object = |id: &mut ObjectId| {
        *id = id.get().and_then(|number| named.objects.of_waits.get(number)).copied().unwrap_or(ObjectId::NONE);
    };
    off_cpu.stack.par_iter_mut().for_each(stack);
    off_cpu.waker_stack.par_iter_mut().for_each(stack);
    off_cpu.object.par_iter_mut().for_each(object);
    samples.stack.par_iter_mut().for_each(stack);
}

/// What programs said of themselves, with the rows of the named tables instead of the raw numbers.
pub fn annotations(mut told: Unnamed, named: &mut Named) -> Annotations {
    let task_type = |id: &mut TaskTypeId| {
        *id = id.get().and_then(|number| named.task_type_ids.get(number)).copied().unwrap_or(TaskTypeId::NONE);
    };
    told.tasks.task_type.par_iter_mut().for_each(task_type);
    told.markers.task_type.par_iter_mut().for_each(task_type);
    told.sync_waits.object.par_iter_mut().for_each(|id| {
        *id = id.get().and_then(|number| named.objects.of_told.get(number)).copied().unwrap_or(ObjectId::NONE);
    });
    Annotations {
        task_types: std::mem::take(&mut named.task_types),
        tasks: told.tasks,
        task_metadata: told.metadata,
        markers: told.markers,
        counters: told.counters,
        counter_values: told.counter_values,
        sync_waits: told.sync_waits,
    }
}
