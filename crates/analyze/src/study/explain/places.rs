//! The place that a stack stands for: the program's own function there, and who called it.

use dwell_model::StackId;
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::frames::module_path;
use dwell_query::stacks::name_words::without_template_arguments;
use dwell_query::stacks::own_code::ENGINE_SOURCES;
use dwell_query::stacks::project::{is_in_packages, is_of_go, is_of_java_library, is_of_package};
use dwell_query::stacks::system_calls::system_call;
use dwell_store::Trace;

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodePlace {
    /// `function (file:line)`, or the function alone.
    pub at: String,
    /// The functions of the program that lead to it, itself last, each once; and each with its line, as `at` is.
    pub path: Vec<(String, String)>,
    /// Functions of packages that it calls, the first call first, likewise. They are told of where a thread runs only.
    pub inside: Vec<(String, String)>,
    /// The system call in which the kernel runs for it, likewise (see [`system_call`]); empty outside of the kernel.
    pub in_kernel: String,
}

impl CodePlace {
    /// The function of the program that called it; empty when there is none.
    pub fn caller(&self) -> &str {
        self.path.iter().rev().nth(1).map_or("", |(function, _)| function)
    }
}

/// The function of a place that is told as `function (file:line)`.
pub fn function_at(at: &str) -> &str {
    at.rsplit_once(" (").map_or(at, |(function, _)| function)
}

/// Where in the body of a script a place is, `file:line`; none of a function with a name.
pub fn line_of_body(at: &str) -> Option<&str> {
    let (body, line) = at.rsplit_once(" (")?;
    BODIES.contains(&body).then(|| line.trim_end_matches(')'))
}

/// What tells the function of a place from others: its name; of the body of a script, which has none, its file as well, and of a function
/// without one its line, too. The bodies of JavaScript's modules, which begin in their first lines, are one: they are run to load these.
pub fn function_key(at: &str) -> String {
    match function_at(at) {
        body if BODIES.contains(&body) => {
            at.rsplit_once(':').map_or_else(|| at.to_owned(), |(file, _)| format!("{file})"))
        }
        NO_NAME if !at.ends_with(":1)") => at.to_owned(),
        function => function.to_owned(),
    }
}

/// What the bodies of scripts are called: Python's, Ruby's and PHP's, Ruby's that others load.
const BODIES: &[&str] = &["<module>", "<main>", "<top (required)>"];
/// Where distributions put libraries that are not the program's own.
const LIBRARIES: &[&str] = &["/usr/lib", "/lib", "/usr/local/lib/python", "/snap/"];
/// How functions of runtimes begin that are written in the program's language.
const RUNTIMES: &[&str] = &["java.", "jdk.", "sun.", "runtime.", "node:"];
/// Programs that run scripts of JavaScript, to which what is compiled into their files is a library.
const JAVASCRIPT_ENGINES: &[&str] = &["node", "nodejs", "libnode.so", "deno", "electron"];
/// The JVM's own libraries, wherever it is installed.
const JVM_LIBRARIES: &[&str] =
    &["libjvm.so", "libjava.so", "libnio.so", "libnet.so", "libzip.so", "libjli.so", "libextnet.so"];
/// How frames begin that are in no file, as of code that a runtime makes: their addresses say nothing.
const NO_FILE: &str = "[anon]";
/// What names have in them, behind the file's, that are made for functions without one: those that unwind tables know, and others.
pub const UNWOUND: &str = "]func@0x";
const ADDRESS: &str = "]+0x";
/// Where every program begins: of one without symbols it is the only name.
const PROGRAM_START: &str = "_start";
/// What functions of JavaScript are called that have no name.
const NO_NAME: &str = "(anonymous)";
/// Names of sources that stand for their folder.
const OF_FOLDERS: &[&str] = &["__init__.py", "__main__.py", "index.js", "index.mjs", "index.cjs", "index.ts", "mod.rs"];
/// Functions of a path that are kept, the outermost and the innermost ones.
const LONGEST_PATH: usize = 48;
/// A function's name, cut: what templates make of it tells nobody anything.
const LONGEST_NAME: usize = 72;

/// The place of `stack` at which a thread waits: where the program's own sources call what waits, not the package that does. Without
/// such a function it is that of packages; without one, of its libraries; without one, of Python's own library; without one, the innermost
/// function outside of the kernel.
pub fn wait_place(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> CodePlace {
    CodePlace { inside: Vec::new(), in_kernel: String::new(), ..run_place(trace, stacks, stack) }
}

/// The function of Python's multiprocessing, with and without its class, with which a forked child begins; and the end of its file's path. What called
/// it is the parent's.
const BEGINS_FORKED: &[&str] = &["BaseProcess._bootstrap", "_bootstrap"];
const MULTIPROCESSING: &str = "/multiprocessing/process.py";

/// Whether a forked child begins with the frame's function.
fn begins_forked(trace: &Trace, frame: usize) -> bool {
    BEGINS_FORKED.contains(&trace.frames.function[frame].as_str())
        && trace.frames.file[frame].ends_with(MULTIPROCESSING)
}

/// Whether a frame's function is a package's, which others wrote.
pub fn is_of_package_at(trace: &Trace, frame: usize) -> bool {
    let (function, file, module) =
        (&trace.frames.function[frame], &trace.frames.file[frame], module_path(trace, frame));
    is_of_package(file) || is_in_packages(module) || is_of_go(function, file) || is_of_java_library(function, module)
}

/// Whether the frame at the end of `stack` is of Go's standard library, and does more there than its runtime.
fn is_of_go_at(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> bool {
    let is_of_go = |frame: usize| is_of_go(&trace.frames.function[frame], &trace.frames.file[frame]);
    stacks.frame(stack).is_some_and(is_of_go) && !stacks.is_runtime(stack)
}

/// Whether the frame at the end of `stack` is of the program's own sources.
pub fn is_of_program(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> bool {
    let is_packages = |frame| is_of_package_at(trace, frame);
    stacks.is_own(stack) && !is_library(trace, stacks, stack) && !stacks.frame(stack).is_some_and(is_packages)
}

/// Whether functions of the program's own sources led to `stack`.
pub fn is_from_program(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> bool {
    stacks.whole_chain(stack).any(|at| is_of_program(trace, stacks, at))
}

/// The place of `stack` at which a thread runs: likewise, with what packages do there.
pub fn run_place(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> CodePlace {
    let mut chain: Vec<StackId> = stacks.whole_chain(stack).collect();
    let begins = |stack: &StackId| stacks.frame(*stack).is_some_and(|frame| begins_forked(trace, frame));
    if let Some(begin) = chain.iter().position(begins) {
        chain.truncate(begin + 1);
    }
    let is_named = |stack: &StackId| {
        let in_file = || stacks.frame(*stack).is_some_and(|frame| !trace.frames.file[frame].is_empty());
        function(trace, stacks, *stack).is_some_and(|it| !it.starts_with(NO_FILE) && (it != NO_NAME || in_file()))
    };
    let of_library = |stack: &&StackId| stacks.is_own(**stack) && is_named(stack);
    let of_program = |stack: &&StackId| of_library(stack) && !is_library(trace, stacks, **stack);
    let outside_kernel = |stack: &&StackId| !stacks.is_kernel(**stack);
    let of_sources = |stack: &StackId| stacks.frame(*stack).is_some_and(|frame| !is_of_package_at(trace, frame));
    let mut found: Vec<StackId> = chain.iter().filter(of_program).copied().collect();
    let mut inside = Vec::new();
    if let Some(innermost) = found.iter().position(of_sources) {
        let called = chain.iter().take_while(|stack| **stack != found[innermost]);
        let of_package = |stack: &&StackId| of_program(stack) || is_of_go_at(trace, stacks, **stack);
        inside = path(trace, stacks, &called.filter(of_package).copied().collect::<Vec<_>>());
        found.retain(of_sources);
    }
    let tells_nothing =
        |stack: &StackId| function(trace, stacks, *stack).is_some_and(|function| function == PROGRAM_START);
    if found.iter().all(tells_nothing) {
        found = chain.iter().filter(of_library).copied().collect();
    }
    if found.is_empty() {
        // An interpreter whose functions are not known, or a standard library's own thread.
        let tells = |stack: &&StackId| !stacks.is_system(**stack) && is_named(stack) && !stacks.is_runtime(**stack);
        found = chain.iter().filter(tells).copied().collect();
    }
    if found.is_empty() {
        found = chain.iter().filter(|stack| !stacks.is_system(**stack) && is_named(stack)).copied().collect();
    }
    if found.is_empty() {
        found = chain.iter().filter(|stack| stacks.is_telling_script_library(**stack)).copied().collect();
    }
    if found.is_empty() {
        found = chain.iter().find(outside_kernel).or(chain.first()).copied().into_iter().collect();
    }
    // What a function without a name calls in libraries says what it does.
    let in_library =
        |stack: &&StackId| outside_kernel(stack) && is_named(stack) && !is_nameless_at(trace, stacks, **stack);
    if inside.is_empty() && found.first().is_some_and(|innermost| is_nameless_at(trace, stacks, *innermost)) {
        let called: Vec<StackId> =
            chain.iter().take_while(|stack| **stack != found[0]).filter(in_library).copied().collect();
        inside = path(trace, stacks, &called);
    }
    let path = path(trace, stacks, &found);
    let at = path.last().map_or_else(|| "an unknown place".to_owned(), |(_, at)| at.clone());
    CodePlace { at, path, inside, in_kernel: system_call(stacks, stack).unwrap_or_default().to_owned() }
}

/// The functions of these frames, given innermost first, from the outermost on; a function that calls itself is there once.
fn path(trace: &Trace, stacks: &CallStacks<'_>, frames: &[StackId]) -> Vec<(String, String)> {
    let mut path: Vec<(String, String)> = Vec::new();
    for (from_leaf, stack) in frames.iter().enumerate().rev() {
        if path.len() >= LONGEST_PATH && from_leaf >= 2 {
            continue;
        }
        let Some(mut named) = function(trace, stacks, *stack).zip(with_line(trace, stacks, *stack)) else { continue };
        // Functions of JavaScript without a name are told apart by their lines, bodies of scripts by their files.
        if named.0 == NO_NAME {
            named.0.clone_from(&named.1);
        }
        if BODIES.contains(&named.0.as_str()) {
            named.0 = function_key(&named.1);
        }
        // Code without symbols is its file's, wherever in it.
        if let Some((file, _)) = named.0.split_once("]+0x") {
            named.0 = format!("{file}]");
        }
        match path.iter().position(|(function, _)| *function == named.0) {
            Some(known) if from_leaf == 0 => {
                path.truncate(known);
                path.push(named);
            }
            Some(_) => {}
            None => path.push(named),
        }
    }
    path
}

/// Whether a function has no name but its file, with an address or without: `[grep]func@0x6b80`, `[app]+0x1234`, `[sh]`.
pub fn is_nameless(function: &str) -> bool {
    let is_file = function.starts_with('[') && function.ends_with(']');
    is_file || function.contains(UNWOUND) || function.contains(ADDRESS)
}

fn is_nameless_at(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> bool {
    function(trace, stacks, stack).is_some_and(|name| is_nameless(&name))
}

/// Whether the frame at the end of `stack` is in a library of the distribution, or in a language's own.
fn is_library(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> bool {
    let Some(frame) = stacks.frame(stack) else { return true };
    let function = &trace.frames.function[frame];
    let file = module_path(trace, frame).rsplit('/').next().unwrap_or_default();
    trace.frames.file[frame].starts_with(ENGINE_SOURCES)
        || JAVASCRIPT_ENGINES.iter().any(|name| file == *name || (name.ends_with(".so") && file.starts_with(name)))
        || JVM_LIBRARIES.contains(&file)
        || LIBRARIES.iter().any(|folder| module_path(trace, frame).starts_with(folder))
        || RUNTIMES.iter().any(|start| function.starts_with(start))
}

/// The name of a source file, with its folder where all folders have a file of that name: `pandas/__init__.py`.
fn file_name(path: &str) -> &str {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = folders.rsplit('/').next().unwrap_or_default();
    if folder.is_empty() || !OF_FOLDERS.contains(&name) {
        name
    } else {
        &path[path.len() - folder.len() - name.len() - 1..]
    }
}

fn with_line(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> Option<String> {
    let name = function(trace, stacks, stack)?;
    let frame = stacks.frame(stack)?;
    let (file, line) = (file_name(&trace.frames.file[frame]), trace.frames.line[frame]);
    Some(match (file, line) {
        ("", _) => name,
        (file, 0) => format!("{name} ({file})"),
        (file, line) => format!("{name} ({file}:{line})"),
    })
}

/// `Shop$$Lambda$14+0x00007f8f1c007110.run` is `Shop$$Lambda.run`: the JVM makes such classes as it goes.
pub fn without_lambda_number(name: &str) -> String {
    let number = |(class, rest): (&str, &str)| Some((class.to_owned(), rest.split_once('.')?.1.to_owned()));
    let parts = name.split_once("$$Lambda").and_then(number);
    parts.map_or_else(|| name.to_owned(), |(class, method)| format!("{class}$$Lambda.{method}"))
}

/// A function's name without the arguments of templates, and without the closures in it: the line tells which.
fn function(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> Option<String> {
    let name = without_lambda_number(trace.frames.function[stacks.frame(stack)?].trim_end_matches("::{{closure}}"));
    let mut short = without_template_arguments(&name);
    if short.chars().count() > LONGEST_NAME {
        short = short.chars().take(LONGEST_NAME - 1).chain(['…']).collect();
    }
    Some(short)
}

#[cfg(test)]
mod tests {
    use dwell_model::{FrameId, ModuleId};
    use dwell_query::engine::fold::Fold;
    use dwell_query::question::query::Query;
    use dwell_store::tables::{ModuleRow, StackRow};
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn files_that_all_folders_have_are_told_with_theirs() {
        assert_eq!(file_name("/venv/site-packages/pandas/__init__.py"), "pandas/__init__.py");
        assert_eq!(file_name("src/mod.rs"), "src/mod.rs");
        assert_eq!(file_name("/srv/app.py"), "app.py");
        assert_eq!(file_name("/index.js"), "index.js");
        assert_eq!(file_name(""), "");
    }

    /// The place at which a thread runs in these functions, the outermost first, each with its source file and its module.
    fn place_of(functions: &[(&str, &str, &str)]) -> String {
        let mut trace = trace("a: 11");
        let mut parent = StackId::NONE;
        for (function, file, module) in functions {
            let mut row = trace.frames.row(0).unwrap();
            (row.function, row.file, row.line) = ((*function).into(), (*file).into(), 0);
            if !module.is_empty() {
                let path = ModuleRow { path: (*module).into(), build_id: String::new() };
                row.module = ModuleId::new(trace.modules.push(path));
            }
            let frame = FrameId::new(trace.frames.push(row));
            parent = StackId::new(trace.stacks.push(StackRow { parent, frame, end: 1 }));
        }
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        run_place(&trace, &fold.sums.stacks, parent).at
    }

    #[test]
    fn where_every_program_begins_is_no_place() {
        let place = |module: &str| place_of(&[("_start", "", "/usr/bin/draw"), ("fill_area", "", module)]);
        assert_eq!(place("/usr/lib/x86_64-linux-gnu/libdraw.so.2"), "fill_area");
        assert_eq!(place("/usr/lib/x86_64-linux-gnu/libc.so.6"), "_start", "it calls nothing else");
    }

    #[test]
    fn bodies_of_modules_are_told_apart_by_their_files() {
        assert_eq!(function_key("<module> (pandas/__init__.py:46)"), "<module> (pandas/__init__.py)");
        assert_ne!(function_key("<module> (app.py:1)"), function_key("<module> (jobs.py:1)"));
        assert_eq!(function_key("<module> (app.py:1)"), function_key("<module> (app.py:7)"));
        assert_eq!(function_key("total (jobs.py:2)"), "total");
        assert_eq!(function_key("<main> (shop.rb:3)"), "<main> (shop.rb)");
        assert_ne!(function_key("(anonymous) (linter.js:9)"), function_key("(anonymous) (rules.js:9)"));
        assert_eq!(function_key("(anonymous) (linter.js:1)"), function_key("(anonymous) (rules.js:1)"));
    }

    /// Below what forked it are the parent's functions.
    #[test]
    fn what_a_forked_child_runs_is_in_its_own_functions() {
        let place = |functions: &[(&str, &str)]| {
            place_of(&functions.iter().map(|(function, file)| (*function, *file, "")).collect::<Vec<_>>())
        };
        let process = "/usr/lib/python3.11/multiprocessing/process.py";
        let begin = [("<module>", "/srv/app.py"), ("BaseProcess._bootstrap", process)];
        let worker = ("worker", "/srv/venv/lib/python3.11/site-packages/jobs/pool.py");
        assert_ne!(place(&[begin[0], begin[1], worker]), "<module> (app.py)", "the parent called fork there");
        assert_eq!(place(&[begin[0], begin[1], worker, ("count", "/srv/app.py")]), "count (app.py)");
        assert_eq!(place(&[begin[0], worker]), "<module> (app.py)");
    }
}
