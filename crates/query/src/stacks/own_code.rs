//! Which code is a program's own, and which the system's or a standard library's: told by the names of files and functions.
//!
//! The lists are public for `dwell export sql`, whose views tell the same in SQL.

use dwell_model::RUN_TIME_CODE;

use crate::stacks::project::is_of_go;

/// Functions by which Python and Node load modules that a script asks for.
pub const MODULE_LOADERS: &[&str] = &["_find_and_load", "Module._load"];

/// The function by which Node runs the script that it is given, which loads it as it loads modules (lib/internal/modules/run_main.js).
pub const FIRST_SCRIPT: &str = "executeUserEntryPoint";

/// Whether a module is loaded where these functions are called; the first script is loaded by one of them, if that is among them.
pub fn loads_modules<'f>(called: impl Iterator<Item = &'f str>, has_first_script: bool) -> bool {
    called.filter(|function| MODULE_LOADERS.contains(function)).count() > usize::from(has_first_script)
}

/// Base names, up to the first dot or version, of libraries that are the system's and not the program's.
pub const SYSTEM_LIBRARIES: &[&str] = &[
    "libc",
    "libm",
    "libpthread",
    "libdl",
    "librt",
    "libresolv",
    "ld-linux-x86-64",
    "ld-musl-x86_64",
    "libstdc++",
    "libgcc_s",
    "libc++",
    "libc++abi",
    "libgomp",
    "libomp",
    "libiomp5",
    "libtbb",
    "libatomic",
    "libunwind",
    "libasan",
    "libtsan",
    "libubsan",
    "libmpi",
    "libmpich",
    "libmpi_mpifh",
    "libmpi_cxx",
    "libopen-pal",
    "libopen-rte",
    "libpmix",
    "libucp",
    "libuct",
    "libucs",
    "libpsm2",
    "libinfinipath",
    "libfabric",
];
/// Those of OpenMP's runtimes, and how their functions' names begin.
const OPENMP_RUNTIMES: &[&str] = &["libgomp", "libomp", "libiomp5"];
const OPENMP_NAMES: &[&str] = &["GOMP_", "gomp_", "__kmp"];
/// How the names of Open MPI's modules begin.
pub const MPI_MODULE: &str = "mca_";

/// How the files of CPython are called, up to what is no letter: `python3.11`, `libpython3.12.so.1.0`.
pub const PYTHONS: &[&str] = &["python3", "libpython3"];
/// And those of other interpreters, in which the program's own code runs: `php-fpm8.2`, `libruby-3.1.so.3.1.2`.
pub const INTERPRETERS: &[&str] = &["php", "libphp", "ruby", "libruby"];
/// How sources end that may be called as their interpreter is.
pub const SCRIPT_ENDINGS: &[&str] = &[".py", ".php", ".rb"];
/// How sources of JavaScript end, and of what is compiled to it.
const JAVASCRIPT_ENDINGS: &[&str] = &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];
/// Where sources of a JavaScript engine's own library are, though they are in no file.
pub const ENGINE_SOURCES: &str = "node:";
/// What the paths of an interpreter's standard library have in them, and those of packages that are no part of it.
pub const SCRIPT_LIBRARIES: &[(&str, &str)] = &[(PYTHON_LIBRARY, "-packages/"), ("/lib/ruby/", "/gems/")];
/// That of Python's.
pub const PYTHON_LIBRARY: &str = "/lib/python3";
/// How modules of these are called that are in no file.
pub const FROZEN_MODULES: &[&str] = &["<frozen ", "<internal:"];
/// What the paths of the native parts of Python's have in them.
pub const PYTHON_NATIVE: &str = "/lib-dynload/";
/// How the path of Python's module ends that starts threads and has what they wait on: it is on the stacks of all of them.
pub const PYTHON_THREADING: &str = "/threading.py";

/// Where the sources of standard libraries lie that are compiled into programs.
pub const STANDARD_SOURCES: &[&str] = &["/usr/include/", "/usr/lib/gcc/", "/rustc/"];
/// How their functions' names begin, for want of sources.
pub const STANDARD_NAMES: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "__gthread_",
    "__gnu_cxx::",
    "<std::",
    "<core::",
    // The JVM's stubs: of the assembler, and of C2 (share/opto/runtime.cpp).
    "StubRoutines (",
    "_complete_monitor_locking",
    "_monitor_notify",
    "_new_instance_Java",
    "_new_array_Java",
    "_new_array_nozero",
    "_multianewarray",
    "C2 Runtime ",
    "C1 Runtime ",
    // Go's, as far as threads wait in them.
    "runtime.",
    "runtime/",
    "internal/",
    "syscall.",
    "os.(*File).",
    "net.(*",
    "sync.",
    "time.Sleep",
    // OCaml's runtime and standard library.
    "caml_",
    "camlStdlib__",
    "camlThread__",
];
/// How those of C1's stubs end (share/c1/c1_Runtime1.cpp).
pub const STANDARD_ENDS: &[&str] = &[" Runtime1 stub"];
/// Modules that are the kernel's. Others in brackets are memory that the program wrote its code into.
pub const KERNEL_MODULES: &[&str] = &["[kernel]", "[vdso]", "[vsyscall]", "[uprobes]"];

/// Whether the file is an interpreter, or a native part of Python's standard library.
pub fn is_interpreter(path: &str) -> bool {
    is_called(path, INTERPRETERS) || is_of_python(path)
}

/// Whether the file is CPython, or a native part of its standard library: without its functions nothing of it tells anything.
fn is_of_python(path: &str) -> bool {
    is_called(path, PYTHONS) || (path.contains(PYTHON_LIBRARY) && path.contains(PYTHON_NATIVE))
}

/// Whether the file's name begins with one of these, and goes on with what is no letter.
fn is_called(path: &str, names: &[&str]) -> bool {
    let base = path.rsplit('/').next().unwrap_or(path);
    let goes_on = |rest: &str| !rest.starts_with(|letter: char| letter.is_ascii_lowercase());
    names.iter().any(|name| base.strip_prefix(name).is_some_and(goes_on))
        && !SCRIPT_ENDINGS.iter().any(|ending| base.ends_with(ending))
}

/// Whether the code is what `python3 -X perf` makes to have a native frame for each Python function.
pub fn is_trampoline(path: &str) -> bool {
    path.strip_prefix(RUN_TIME_CODE).is_some_and(is_interpreter)
}

/// Whether the source file is of JavaScript, or of its engine's own library.
pub fn is_javascript(file: &str) -> bool {
    file.starts_with(ENGINE_SOURCES) || JAVASCRIPT_ENDINGS.iter().any(|ending| file.ends_with(ending))
}

fn is_script_library(file: &str) -> bool {
    let is_frozen = FROZEN_MODULES.iter().any(|start| file.starts_with(start));
    is_frozen || SCRIPT_LIBRARIES.iter().any(|(library, packages)| file.contains(library) && !file.contains(packages))
}

/// Whether the source file is of an interpreter's standard library, and tells what a thread does: Python's module `threading` is on all
/// stacks.
pub fn is_telling_script_library(file: &str) -> bool {
    is_script_library(file) && !file.ends_with(PYTHON_THREADING)
}

/// Whether a function is of a runtime of OpenMP, by its file or its name.
pub fn is_of_openmp(path: &str, function: &str) -> bool {
    is_called(path, OPENMP_RUNTIMES) || OPENMP_NAMES.iter().any(|start| function.starts_with(start))
}

/// Whether the file is the system's: `[kernel]`, `[vdso]`, `/usr/lib/…/libc.so.6`, `libtbb.so.12`.
pub fn is_system_module(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or(path);
    let stem = base.split(".so").next().unwrap_or(base);
    let stem = stem.split_once("-2.").map_or(stem, |(stem, _)| stem);
    KERNEL_MODULES.contains(&base)
        || is_of_python(path)
        || (base.contains(".so") && (SYSTEM_LIBRARIES.contains(&stem) || stem.starts_with(MPI_MODULE)))
}

/// Whether a function is of a standard library or a runtime, by its name: none of the program calls it so.
pub fn is_standard_name(function: &str) -> bool {
    STANDARD_NAMES.iter().any(|start| function.starts_with(start))
        || STANDARD_ENDS.iter().any(|end| function.ends_with(end))
}

/// Whether the code was compiled into the program from a standard library's sources, or is an interpreter's own: `script` code without a
/// file is a function of the interpreter, as PHP's `usleep` is.
pub fn is_standard_code(file: &str, function: &str, script: bool) -> bool {
    (script && (file.is_empty() || is_script_library(file)))
        || STANDARD_SOURCES.iter().any(|start| file.starts_with(start))
        || is_standard_name(function)
        || is_of_go(function, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_python_tell_what_a_thread_does_except_threading() {
        let library = "/usr/lib/python3.11";
        assert!(is_telling_script_library(&format!("{library}/multiprocessing/queues.py")));
        assert!(is_telling_script_library("<frozen runpy>"));
        for file in [format!("{library}/threading.py"), format!("{library}/site-packages/app.py"), "/srv/app.py".into()]
        {
            assert!(!is_telling_script_library(&file), "{file}");
        }
    }

    #[test]
    fn what_an_interpreter_brings_is_no_code_of_the_program() {
        for file in ["", "/usr/lib/ruby/3.1.0/net/http.rb", "<internal:kernel>", "/usr/lib/python3.11/queue.py"] {
            assert!(is_standard_code(file, "call", true), "{file}");
        }
        for file in ["/srv/app.rb", "/var/lib/ruby/gems/3.1.0/gems/rack/lib/rack.rb", "/srv/index.php"] {
            assert!(!is_standard_code(file, "call", true), "{file}");
        }
    }

    #[test]
    fn what_go_brings_is_no_code_of_the_program() {
        assert!(is_standard_code("/usr/local/go/src/fmt/print.go", "fmt.Sprintf", false));
        assert!(is_standard_code("net/http/transport.go", "net/http.(*persistConn).addTLS", false));
        assert!(!is_standard_code("/srv/shop/main.go", "main.encode", false));
        assert!(!is_standard_code("/srv/shop/log/log.go", "shop/log.Write", false));
    }

    #[test]
    fn stubs_of_the_jvm_are_no_code_of_the_program() {
        for stub in ["monitorenter_nofpu Runtime1 stub", "_complete_monitor_locking_Java", "StubRoutines (1)"] {
            assert!(is_standard_code("", stub, false), "{stub}");
        }
        assert!(!is_standard_code("SyncHot.java", "SyncHot.record", false));
    }

    #[test]
    fn system_libraries_are_known_by_their_base_name() {
        for path in [
            "[kernel]",
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/libpthread-2.31.so",
            "/opt/libtbb.so.12",
            "/usr/lib/openmpi/lib/openmpi3/mca_btl_vader.so",
        ] {
            assert!(is_system_module(path), "{path}");
        }
        for path in [
            "/usr/bin/python3.11",
            "/usr/lib/x86_64-linux-gnu/libpython3.12.so.1.0",
            "/usr/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so",
        ] {
            assert!(is_system_module(path) && is_interpreter(path), "{path}");
        }
        for path in ["/usr/sbin/php-fpm8.2", "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2"] {
            assert!(is_interpreter(path) && !is_system_module(path), "{path}");
        }
        for path in [
            "/srv/python3.py",
            "/srv/ruby.rb",
            "/usr/bin/rubyfmt",
            "/usr/lib/python3/dist-packages/app.py",
            "/usr/bin/libc",
            "/usr/lib/libavcodec.so.59",
            "/srv/app",
            "",
            "[jit] node",
            "[anon]",
        ] {
            assert!(!is_system_module(path) && !is_interpreter(path), "{path}");
        }
    }
}
