//! Rows of a table or tree: the sites of a fold gathered under the keys of the query's grouping levels.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use dwell_model::{
    ModuleId, ObjectId, ObjectType, Outcome, ProcessId, Reason, StackId, TaskTypeId, ThreadId, WakerKind,
};
use dwell_store::{Trace, WordMap};

use crate::engine::alike_objects::{alike_name, counted, uncounted};
use crate::engine::fold::Fold;
use crate::engine::sites::NOWHERE;
use crate::measure::distribution::Distribution;
use crate::measure::lengths::Run;
use crate::measure::metrics::{magnitude, value};
use crate::measure::site::Site;
use crate::measure::utilization::total;
use crate::measure::weights::Weights;
use crate::question::level::Level;
use crate::stacks::call_stacks::NO_FUNCTION;
use crate::stacks::tasks::TaskNames;

/// One group.
#[derive(Debug)]
pub struct GroupNode {
    /// Level that it is of.
    pub level: Level,
    /// Which one of that level.
    pub key: u32,
    /// The group above it, which comes before it.
    parent: Option<usize>,
    /// How many levels are above it.
    pub depth: usize,
    /// Sum over its sites.
    pub weights: Weights,
    /// Its sites.
    pub sites: Vec<u32>,
    /// Groups of the next level, in order of rank after [`Groups::sort`].
    pub children: Vec<usize>,
}

/// The groups of a fold.
pub struct Groups<'f, 't> {
    fold: &'f Fold<'t>,
    labels: Labels,
    /// Every group; parents come before their children.
    pub nodes: Vec<GroupNode>,
    /// Groups of the first level.
    pub roots: Vec<usize>,
}

impl<'f, 't> Groups<'f, 't> {
    /// Gathers the selected sites that `wanted` lets through under `levels`, outermost first.
    pub fn new(fold: &'f Fold<'t>, levels: &[Level], wanted: impl Fn(&Site) -> bool) -> Self {
        let mut groups = Self { fold, labels: Labels::default(), nodes: Vec::new(), roots: Vec::new() };
        let mut ids: WordMap<(Option<usize>, u32), usize> = WordMap::default();
        for (index, site) in fold.selected_sites().filter(|(_, site)| wanted(site)) {
            let mut parent = None;
            for (depth, level) in levels.iter().enumerate() {
                let key = groups.labels.key(fold, *level, site);
                let node = *ids.entry((parent, key)).or_insert_with(|| groups.add(parent, *level, key, depth));
                groups.nodes[node].weights.add_site(site, fold.sums.class_mask);
                groups.nodes[node].sites.push(index as u32);
                parent = Some(node);
            }
        }
        groups
    }

    /// What is grouped.
    pub fn fold(&self) -> &'f Fold<'t> {
        self.fold
    }

    fn add(&mut self, parent: Option<usize>, level: Level, key: u32, depth: usize) -> usize {
        let node = self.nodes.len();
        self.nodes.push(GroupNode {
            level,
            key,
            parent,
            depth,
            weights: Weights::default(),
            sites: Vec::new(),
            children: Vec::new(),
        });
        match parent {
            Some(parent) => self.nodes[parent].children.push(node),
            None => self.roots.push(node),
        }
        node
    }

    /// Puts the groups of each level in order, the largest `rank` first and equal ones by name, and cuts each level off
    /// at the query's limit. Returns how many groups of the first level were cut off.
    pub fn sort(&mut self, rank: impl Fn(&Weights) -> f64) -> usize {
        let rank = |weights: &Weights| match self.fold.query.sort {
            Some(metric) => magnitude(&value(metric, weights)),
            None => rank(weights),
        };
        let ranks: Vec<f64> = self.nodes.iter().map(|node| rank(&node.weights)).collect();
        self.sort_ranked(&ranks)
    }

    /// The same by the rank of each node.
    pub fn sort_ranked(&mut self, ranks: &[f64]) -> usize {
        let names: Vec<String> = (0..self.nodes.len()).map(|node| self.label(node)).collect();
        let limit = self.fold.query.limit.unwrap_or(usize::MAX);
        let order = |list: &mut Vec<usize>| {
            list.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]).then_with(|| names[a].cmp(&names[b])));
            let cut = list.len().saturating_sub(limit);
            list.truncate(limit);
            cut
        };
        self.nodes.iter_mut().for_each(|node| {
            order(&mut node.children);
        });
        order(&mut self.roots)
    }

    /// The nodes in the order of display: each before its children.
    pub fn in_order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut ahead: Vec<usize> = self.roots.iter().rev().copied().collect();
        while let Some(node) = ahead.pop() {
            order.push(node);
            ahead.extend(self.nodes[node].children.iter().rev());
        }
        order
    }

    /// Name of a group.
    pub fn label(&self, node: usize) -> String {
        let node = &self.nodes[node];
        self.labels.label(self.fold, node.level, node.key)
    }

    /// Name of a group as a reader sees it: of alike objects with how many they are, of a single one its own.
    pub fn shown_label(&self, node: usize) -> String {
        if self.nodes[node].level != Level::AlikeObjects {
            return self.label(node);
        }
        match self.objects(&self.nodes[node]).as_slice() {
            [object] => self.fold.object_name(*object).to_owned(),
            objects => counted(objects.len(), self.labels.text(self.nodes[node].key)),
        }
    }

    /// The objects that waits of a group are on.
    pub fn objects(&self, node: &GroupNode) -> Vec<ObjectId> {
        if node.level == Level::Object {
            return vec![ObjectId::from_raw(node.key)];
        }
        let of_site = |site: &u32| self.fold.sums.sites[*site as usize].key.object;
        let mut objects: Vec<ObjectId> = node.sites.iter().map(of_site).collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }

    /// Number of threads that ran or waited in a group: those that were only in the run queue do not count.
    pub fn threads(&self, node: usize) -> usize {
        let busy = self.sites(node).filter(|site| site.time != [0; 5]);
        let mut threads: Vec<ThreadId> = busy.map(|site| site.key.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.len()
    }

    /// The stack of a group with the most wait time (or running time), as `stack_of` a site.
    pub fn top_stack(&self, node: usize, stack_of: impl Fn(&Site) -> StackId) -> StackId {
        let mut times: BTreeMap<StackId, u64> = BTreeMap::new();
        for site in self.sites(node) {
            let stack = stack_of(site);
            if stack.is_some() {
                let sum = times.entry(stack).or_default();
                *sum = sum.saturating_add(total(&site.time).saturating_add(1));
            }
        }
        times.into_iter().rev().max_by_key(|(_, ns)| *ns).map_or(StackId::NONE, |(stack, _)| stack)
    }

    /// Lengths of the waits of each group that is not cut off, by node.
    pub fn distributions(&self) -> Vec<Distribution> {
        // A wait is counted in the lowest group that is shown, and then in those above.
        let mut shown: Vec<Option<usize>> = vec![None; self.nodes.len()];
        self.in_order().into_iter().for_each(|node| shown[node] = Some(node));
        let mut target_of_site = vec![NOWHERE; self.fold.sums.sites.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            shown[index] = shown[index].or_else(|| shown[node.parent?]);
            let target = shown[index].map_or(NOWHERE, |node| node as u32);
            node.sites.iter().for_each(|site| target_of_site[*site as usize] = target);
        }
        let new = || vec![Distribution::default(); self.nodes.len()];
        let add = |of_node: &mut Vec<Distribution>, node: u32, run: &Run| of_node[node as usize].add(run);
        let parts = self.fold.lengths(|site| target_of_site[site], new, add);
        let mut sums = parts.into_iter().reduce(|sum, part| Distribution::merged(sum, &part)).unwrap_or_else(new);
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let (above, below) = sums.split_at_mut(index);
            if let (Some(parent), Some(own)) = (node.parent, below.first()) {
                above[parent].merge(own);
            }
        }
        sums
    }

    fn sites(&self, node: usize) -> impl Iterator<Item = &Site> {
        self.nodes[node].sites.iter().map(|site| &self.fold.sums.sites[*site as usize])
    }
}

/// Keys of levels, and their names. Rows of the trace's tables are their own keys; text is interned.
#[derive(Default)]
pub struct Labels {
    texts: Vec<String>,
    ids: HashMap<String, u32>,
    /// Keys of alike objects, by one of these.
    alike: WordMap<u32, u32>,
    task_names: OnceLock<TaskNames>,
}

impl Labels {
    fn alike(&mut self, fold: &Fold<'_>, object: ObjectId) -> u32 {
        if let Some(key) = self.alike.get(&object.raw()) {
            return *key;
        }
        let key = self.intern(&alike_name(fold, object));
        self.alike.insert(object.raw(), key);
        key
    }

    fn text(&self, key: u32) -> &str {
        self.texts.get(key as usize).map_or("", String::as_str)
    }

    fn intern(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }

    /// The key of the group of `level` that a site is in.
    pub fn key(&mut self, fold: &Fold<'_>, level: Level, site: &Site) -> u32 {
        let (key, trace) = (&site.key, fold.trace);
        let shown = fold.sums.stacks.shown(key.stack);
        let frame = fold.sums.stacks.frame(shown);
        match level {
            Level::Function => match frame {
                None if key.reason.is_none() => self.intern(NOT_SAMPLED) | UNSAMPLED,
                _ => fold.sums.stacks.function(shown),
            },
            Level::CallStack => shown.raw(),
            Level::SourceFunction => fold.sums.stacks.source_function(shown),
            Level::Module => frame.map_or(ModuleId::NONE, |frame| trace.frames.module[frame]).raw(),
            Level::SourceFile => self.intern(frame.map_or("", |frame| &trace.frames.file[frame])),
            Level::SourceLine => {
                let line = frame.and_then(|frame| fold.sums.stacks.source_line(frame));
                self.intern(line.as_deref().unwrap_or_default())
            }
            Level::Thread => key.thread.raw(),
            Level::ThreadName => {
                self.intern(key.thread.get().and_then(|row| trace.threads.name.get(row)).map_or("", String::as_str))
            }
            Level::Process => {
                let process = key.thread.get().and_then(|row| trace.threads.process.get(row)).copied();
                process.unwrap_or(ProcessId::NONE).raw()
            }
            Level::Cgroup | Level::Unit | Level::Container | Level::Pod => {
                self.intern(belonging(trace, level, key.thread))
            }
            Level::Object => key.object.raw(),
            Level::AlikeObjects => self.alike(fold, key.object),
            Level::ObjectType if key.object.is_some() || site.is_wait() => {
                u32::from(fold.object_type(key.object).code())
            }
            Level::ObjectType => NO_FUNCTION,
            Level::WaitKind => self.intern(&wait_kind(site)),
            Level::Waker => self.intern(&waker(fold, site)),
            Level::Cpu => u32::from(key.cpu),
            Level::TaskType => trace.nesting().task(key.context).raw(),
        }
    }

    /// A key as a word that means the same in the next question about the same result.
    pub fn word(&self, level: Level, key: u32) -> String {
        let text = || self.texts.get((key & !UNSAMPLED) as usize).cloned().unwrap_or_default();
        match level {
            _ if is_interned(level) => text(),
            Level::Function if key != NO_FUNCTION && key & UNSAMPLED != 0 => text(),
            _ => key.to_string(),
        }
    }

    /// The key of such a word; none for one that is no key.
    pub fn parse(&mut self, level: Level, word: &str) -> Option<u32> {
        match level {
            _ if is_interned(level) => Some(self.intern(word)),
            Level::Function if word == NOT_SAMPLED => Some(self.intern(word) | UNSAMPLED),
            _ => word.parse().ok(),
        }
    }

    /// Name of the group of `level` that has this key.
    pub fn label(&self, fold: &Fold<'_>, level: Level, key: u32) -> String {
        let trace = fold.trace;
        match level {
            Level::Function if key != NO_FUNCTION && key & UNSAMPLED != 0 => NOT_SAMPLED.into(),
            Level::Function | Level::SourceFunction => fold.sums.stacks.function_name(key).to_owned(),
            Level::CallStack => fold.sums.stacks.names(StackId::from_raw(key)).join(" ← "),
            Level::Module => {
                let module = ModuleId::from_raw(key).get().and_then(|row| trace.modules.path.get(row));
                module.map_or("[unknown]", String::as_str).to_owned()
            }
            Level::Thread => thread_label(fold, ThreadId::from_raw(key)),
            Level::Process => process_label(fold, ProcessId::from_raw(key)),
            Level::Object => fold.object_name(ObjectId::from_raw(key)).to_owned(),
            Level::AlikeObjects => uncounted(self.text(key)).to_owned(),
            Level::ObjectType if key == NO_FUNCTION => "none".into(),
            Level::ObjectType => ObjectType::from_code(u8::try_from(key).unwrap_or(0)).id().to_owned(),
            Level::Cpu if key == u32::from(u16::MAX) => "[unknown]".into(),
            Level::Cpu => format!("cpu{key}"),
            Level::TaskType => self.task_names.get_or_init(|| TaskNames::new(trace)).name(TaskTypeId::from_raw(key)),
            Level::Cgroup | Level::Unit | Level::Container | Level::Pod => {
                let text = self.texts.get(key as usize).map_or("", String::as_str);
                if text.is_empty() { "[none]".into() } else { text.to_owned() }
            }
            Level::SourceFile | Level::SourceLine | Level::ThreadName | Level::WaitKind | Level::Waker => {
                let text = self.texts.get(key as usize).map_or("", String::as_str);
                if text.is_empty() { "[unknown]".into() } else { text.to_owned() }
            }
        }
    }
}

/// Marks the key of running time for which no sample stands: no trace has two billion functions.
const UNSAMPLED: u32 = 1 << 31;
const NOT_SAMPLED: &str = "[not sampled]";

/// Whether keys of the level are interned texts.
fn is_interned(level: Level) -> bool {
    use Level::{AlikeObjects, Cgroup, Container, Pod, SourceFile, SourceLine, ThreadName, Unit, WaitKind, Waker};
    let belongings = matches!(level, Cgroup | Unit | Container | Pod);
    belongings || matches!(level, SourceFile | SourceLine | ThreadName | WaitKind | Waker | AlikeObjects)
}

/// What the process of a thread belongs to, by a level that tells it; empty for nothing.
fn belonging(trace: &Trace, level: Level, thread: ThreadId) -> &str {
    let processes = &trace.processes;
    let column = match level {
        Level::Cgroup => &processes.cgroup,
        Level::Unit => &processes.unit,
        Level::Container => &processes.container,
        _ => &processes.pod,
    };
    let process = thread.get().and_then(|row| trace.threads.process.get(row)).and_then(|process| process.get());
    process.and_then(|row| column.get(row)).map_or("", String::as_str)
}

fn wait_kind(site: &Site) -> String {
    match site.key.reason {
        None => "running".into(),
        Some(Reason::Waiting) => format!("waiting, {}", Outcome::from_code(site.key.outcome).id()),
        Some(reason) => reason.id().into(),
    }
}

fn waker(fold: &Fold<'_>, site: &Site) -> String {
    match WakerKind::from_code(site.key.waker_kind) {
        WakerKind::Thread => thread_label(fold, site.key.waker),
        kind => format!("[{}]", kind.id()),
    }
}

/// A thread as `name (tid)`.
pub fn thread_label(fold: &Fold<'_>, thread: ThreadId) -> String {
    let threads = &fold.trace.threads;
    let row = thread.get().filter(|row| *row < threads.tid.len());
    row.map_or_else(|| "[unknown]".into(), |row| format!("{} ({})", threads.name[row], threads.tid[row]))
}

fn process_label(fold: &Fold<'_>, process: ProcessId) -> String {
    let processes = &fold.trace.processes;
    let row = process.get().filter(|row| *row < processes.pid.len());
    row.map_or_else(|| "[unknown]".into(), |row| format!("{} ({})", processes.name[row], processes.pid[row]))
}
