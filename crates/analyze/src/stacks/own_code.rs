//! Which code is a program's own, and which the system's or a standard library's: told by the names of files and functions.
//!
//! The lists are public for `dwell export sql`, whose views tell the same in SQL.

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
/// How the names of Open MPI's modules begin.
pub const MPI_MODULE: &str = "mca_";

/// How the files of interpreters are called, whose functions the program's own code runs in: `python3.11`,
/// `libpython3.12.so.1.0`.
pub const INTERPRETERS: &[&str] = &["python3", "libpython3"];
/// What the paths of Python's standard library have in them.
pub const PYTHON_LIBRARY: &str = "/lib/python3";
/// And those of its native parts.
pub const PYTHON_NATIVE: &str = "/lib-dynload/";
/// What the paths have in them of packages that are no part of it.
pub const PYTHON_PACKAGES: &str = "-packages/";
/// How the path of the module ends that starts threads and has what they wait on: it is on the stacks of all of them.
pub const PYTHON_THREADING: &str = "/threading.py";
/// How its modules are called that are in no file.
pub const PYTHON_FROZEN: &str = "<frozen ";

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
    // The JVM's stubs.
    "StubRoutines (",
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
/// Modules that are the kernel's. Others in brackets are memory that the program wrote its code into.
pub const KERNEL_MODULES: &[&str] = &["[kernel]", "[vdso]", "[vsyscall]", "[uprobes]"];

/// Whether the file is an interpreter, or a native part of its standard library.
pub fn is_interpreter(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or(path);
    let program = INTERPRETERS.iter().any(|name| base.starts_with(name)) && !base.ends_with(".py");
    program || (path.contains(PYTHON_LIBRARY) && path.contains(PYTHON_NATIVE))
}

/// Whether the code is what `python3 -X perf` makes to have a native frame for each Python function.
pub fn is_trampoline(path: &str) -> bool {
    path.strip_prefix("[jit] ").is_some_and(is_interpreter)
}

fn is_python_library(file: &str) -> bool {
    file.starts_with(PYTHON_FROZEN) || (file.contains(PYTHON_LIBRARY) && !file.contains(PYTHON_PACKAGES))
}

/// Whether the Python source file is of the standard library, and tells what a thread does: the module `threading` is on all stacks.
pub fn is_telling_python_library(file: &str) -> bool {
    is_python_library(file) && !file.ends_with(PYTHON_THREADING)
}

/// Whether the file is the system's: `[kernel]`, `[vdso]`, `/usr/lib/…/libc.so.6`, `libtbb.so.12`.
pub fn is_system_module(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or(path);
    let stem = base.split(".so").next().unwrap_or(base);
    let stem = stem.split_once("-2.").map_or(stem, |(stem, _)| stem);
    KERNEL_MODULES.contains(&base)
        || is_interpreter(path)
        || (base.contains(".so") && (SYSTEM_LIBRARIES.contains(&stem) || stem.starts_with(MPI_MODULE)))
}

/// Whether the code was compiled into the program from a standard library's sources, or is Python's own.
pub fn is_standard_code(file: &str, function: &str, python: bool) -> bool {
    (python && is_python_library(file))
        || STANDARD_SOURCES.iter().any(|start| file.starts_with(start))
        || STANDARD_NAMES.iter().any(|start| function.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_python_tell_what_a_thread_does_except_threading() {
        let library = "/usr/lib/python3.11";
        assert!(is_telling_python_library(&format!("{library}/multiprocessing/queues.py")));
        assert!(is_telling_python_library("<frozen runpy>"));
        for file in [format!("{library}/threading.py"), format!("{library}/site-packages/app.py"), "/srv/app.py".into()]
        {
            assert!(!is_telling_python_library(&file), "{file}");
        }
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
        for path in [
            "/srv/python3.py",
            "/usr/lib/python3/dist-packages/app.py",
            "/usr/bin/libc",
            "/usr/lib/libavcodec.so.59",
            "/srv/app",
            "",
            "[jit] node",
            "[anon]",
        ] {
            assert!(!is_system_module(path), "{path}");
        }
    }
}
