//! What to do about what runs: by where most of it is, and by what would let more of it run at once.

use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::sweep::ConcurrencyStats;
use dwell_query::stacks::own_code::{self, FIRST_SCRIPT};
use dwell_query::stacks::system_calls::PAGE_FAULTS;
use dwell_view::Sentence;

use crate::reports::queue_causes::ALL_CPUS;
use crate::sentences::say;
use crate::study::explain::{Explanation, RootCause, function_at, in_turn};

/// Part of what runs from which on one function of a package, or one system call, is most of it.
const MOSTLY: f64 = 0.5;

/// Languages of which one thread of a process runs at a time, by the endings of their files before a line.
const ONE_AT_A_TIME: &[(&str, &str)] =
    &[(".py:", "Python"), (".js:", "JavaScript"), (".mjs:", "JavaScript"), (".cjs:", "JavaScript"), (".rb:", RUBY)];
/// A language of these.
pub const RUBY: &str = "Ruby";

/// How functions begin that mypyc and Cython make of Python's: they run with its lock.
const COMPILED_PYTHON: &[&str] = &["CPyDef_", "CPyPy_", "__pyx_pf_", "__pyx_pw_"];

/// How system calls begin that each process makes once, at its begin and its end: there are not fewer to make.
const ONCE: &[&str] = &["exit", "execve"];

/// What functions of JavaScript are called that have no name, such as a whole script.
const NO_NAME: &str = "(anonymous)";

/// Whether a script's function mostly loads modules there.
fn loads_modules(fold: &Fold<'_>, root: &RootCause) -> bool {
    let loading = root.stacks.iter().filter(|(stack, _)| is_loading(fold, root, *stack));
    let (loading_ns, all_ns) = (sum_ns(loading), sum_ns(root.stacks.iter()));
    loading_ns > 0 && loading_ns as f64 >= MOSTLY * all_ns as f64
}

fn sum_ns<'s>(stacks: impl Iterator<Item = &'s (StackId, u64)>) -> u64 {
    stacks.fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
}

/// Whether it does at a stack: a loader is among what the function calls. Node loads the first script by the same function.
fn is_loading(fold: &Fold<'_>, root: &RootCause, stack: StackId) -> bool {
    let names: Vec<&str> = fold.sums.stacks.whole_names(stack).collect();
    let own = function_at(&root.at);
    let called = names.iter().rposition(|name| *name == own).map_or(&names[..], |at| &names[..at]);
    let of_first_script = names.contains(&FIRST_SCRIPT) && (own == NO_NAME || called.len() == names.len());
    own_code::loads_modules(called.iter().copied(), of_first_script)
}

/// What to do about what runs.
pub fn advice(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if loads_modules(fold, root) {
        return say!(ADVICE_LOADS_MODULES);
    }
    let is_whole = fold.query.is_of_all();
    let turns = is_whole.then(|| in_turn(fold.trace, &explanation.names, root.cause.role)).flatten();
    if turns.is_some_and(|turns| turns.are_processes) {
        return say!(ADVICE_PROCESSES_IN_TURN);
    }
    let is_told = |call: &str| !ONCE.iter().any(|once| call.starts_with(once));
    let in_kernel = root.in_kernel.as_ref().filter(|(call, share)| *share >= MOSTLY && is_told(call));
    if let Some((call, _)) = in_kernel {
        return match call.as_str() {
            PAGE_FAULTS => say!(ADVICE_RAN_IN_FAULTS),
            "futex" => say!(ADVICE_RAN_IN_FUTEX),
            call => say!(ADVICE_RAN_IN_KERNEL, call = call),
        };
    }
    if all_cpus_are_busy(fold) {
        return say!(ADVICE_RAN_EVERYWHERE);
    }
    if is_of_node_worker(fold, root) {
        return say!(ADVICE_RAN_IN_WORKER);
    }
    let inside = root.inside.as_ref().filter(|(_, share)| *share >= MOSTLY);
    match (language(fold, root), inside) {
        (Some(_), _)
            if !is_compiled(root)
                && let Some(module) = native_module(fold, root) =>
        {
            say!(ADVICE_RAN_IN_NATIVE, module = module)
        }
        (Some(language), Some((function, _))) => {
            say!(ADVICE_RAN_IN_PACKAGE, function = function.as_str(), language = language)
        }
        (Some(language), None) => say!(ADVICE_RAN_IN_SCRIPT, language = language),
        (None, _) => say!(ADVICE_RAN),
    }
}

/// The language in which most of what ran is written, of those of which one thread of a process runs at a time.
pub fn language(fold: &Fold<'_>, root: &RootCause) -> Option<&'static str> {
    let inside = root.inside.as_ref().filter(|(_, share)| *share >= MOSTLY);
    // Code that a package compiles as it goes is in no file.
    let is_of =
        |ending: &str| root.at.contains(ending) || inside.is_some_and(|(function, _)| function.contains(ending));
    let by_place = ONE_AT_A_TIME.iter().find(|(ending, _)| is_of(ending)).map(|(_, language)| *language);
    by_place.or_else(|| is_compiled(root).then_some("Python")).or_else(|| language_of_file(fold, root.stack))
}

/// Whether it is a function that a compiler made of Python's.
fn is_compiled(root: &RootCause) -> bool {
    COMPILED_PYTHON.iter().any(|start| function_at(&root.at).starts_with(start))
}

/// The language of the innermost function that is in a file of one: a program may be a script whose name does not tell.
fn language_of_file(fold: &Fold<'_>, stack: StackId) -> Option<&'static str> {
    let stacks = &fold.sums.stacks;
    let mut frames = stacks.whole_chain(stack).filter_map(|at| stacks.frame(at));
    let of_frame = |frame: usize| {
        let file = &fold.trace.frames.file[frame];
        let is_of = |(ending, _): &&(&str, &str)| file.ends_with(ending.trim_end_matches(':'));
        ONE_AT_A_TIME.iter().find(is_of).map(|(_, language)| *language)
    };
    frames.find_map(of_frame)
}

/// Whether a worker thread of Node runs it (src/node_worker.cc): a process may have many.
fn is_of_node_worker(fold: &Fold<'_>, root: &RootCause) -> bool {
    fold.sums.stacks.whole_names(root.stack).any(|function| function.contains("node::worker::Worker::"))
}

/// Files whose code an interpreter is, by the begin of their names: what they run is the script.
const INTERPRETERS: &[&str] = &["libpython", "libruby", "libnode", "libv8"];

/// The file of native code, not an interpreter's, in which a script's function mostly runs.
fn native_module(fold: &Fold<'_>, root: &RootCause) -> Option<String> {
    let stacks = &fold.sums.stacks;
    let mut of_module: BTreeMap<&str, u64> = BTreeMap::new();
    for (stack, ns) in &root.stacks {
        let innermost = stacks.whole_chain(*stack).find(|at| !stacks.is_system(*at));
        let path = innermost.and_then(|at| stacks.module_path(stacks.function(at))).unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        if file.contains(".so") && !INTERPRETERS.iter().any(|it| file.starts_with(it)) {
            *of_module.entry(file).or_default() += ns;
        }
    }
    let (module, ns) = of_module.into_iter().max_by_key(|(_, ns)| *ns)?;
    (ns as f64 >= MOSTLY * sum_ns(root.stacks.iter()) as f64).then(|| module.to_owned())
}

/// Whether the program has as many threads at work as it may use CPUs, though others may have these: more of them do nothing sooner.
pub fn all_cpus_are_busy(fold: &Fold<'_>) -> bool {
    let cpus = f64::from(fold.trace.manifest.cpus.usable.max(1));
    ConcurrencyStats::average(&fold.sums.levels.histogram_concurrency) >= ALL_CPUS * cpus
}
