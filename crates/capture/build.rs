//! Compiles the BPF programs with clang (`CLANG` names another compiler than the newest that is found), and the library that
//! instrumented programs load, which becomes part of the binary.
//!
//! Calls clang and llvm-strip itself: the library libbpf-cargo brings a second libbpf and 40 crates to every build.

use std::env;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_embed::Library;

const PROGRAMS: &[&str] = &[
    "namespace",
    "threads",
    "switch",
    "waking",
    "sample",
    "task_probe",
    "stitch",
    "system",
    "sockets",
    "latency",
    "running",
    "requests",
    "call_probe",
];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let wire = manifest.join("../store/src/raw");
    println!("cargo:rerun-if-changed={}", manifest.join("src/bpf").display());
    println!("cargo:rerun-if-changed={}", wire.join("wire.h").display());
    println!("cargo:rerun-if-env-changed=CLANG");
    // Where the build script of libbpf-sys has put libbpf's headers.
    let libbpf = PathBuf::from(env::var_os("DEP_BPF_INCLUDE").unwrap_or_default());
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1).max(1);
    let sources: Vec<PathBuf> = PROGRAMS.iter().map(|name| manifest.join(format!("src/bpf/{name}.bpf.c"))).collect();
    let folders = [(manifest.as_path(), "/dwell/crates/capture"), (libbpf.as_path(), "/libbpf")];
    let mut flags: Vec<String> = [&libbpf, &wire].iter().map(|folder| format!("-I{}", folder.display())).collect();
    flags.extend(folders.iter().map(|(folder, name)| format!("-ffile-prefix-map={}={name}", folder.display())));
    for at_once in sources.chunks(jobs) {
        compile(at_once, &flags, &out);
    }
    build_library(&manifest.join("../.."), &out);
}

/// The library that ITT-instrumented programs load.
fn build_library(root: &Path, out: &Path) {
    let library = Library { package: "dwell-itt", features: &["bare"], sources: &["itt", "itt-wire"] };
    let (path, bytes) = dwell_embed::build(root, library, out);
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    println!("cargo:rustc-env=DWELL_ITT_HASH={:016x}", hasher.finish());
    println!("cargo:rustc-env=DWELL_ITT_LIBRARY={}", path.display());
}

/// Compiles all sources at the same time to objects in `out`. DWARF, from which clang makes the BTF, is stripped: nobody reads
/// it. The BTF names the lines' files, in which the flags put other names for folders of this machine.
fn compile(sources: &[PathBuf], flags: &[String], out: &Path) {
    let clang = dwell_embed::clang();
    let object = |source: &Path| out.join(source.file_stem().unwrap_or_default()).with_extension("bpf.o");
    let started: Vec<_> = sources
        .iter()
        .map(|source| {
            let mut command = Command::new(&clang);
            command.args(["-target", "bpf", "-D__TARGET_ARCH_x86", "-mcpu=v1", "-O2", "-g", "-fno-stack-protector"]);
            command.args(["-Wall", "-Werror", "-c"]).arg(source).arg("-o").arg(object(source));
            (source, command.args(flags).spawn())
        })
        .collect();
    for (source, child) in started {
        if !child.and_then(|mut child| child.wait()).is_ok_and(|status| status.success()) {
            fail(&format!("{clang} could not compile {}", source.display()));
        }
    }
    let strip = tool(&clang, "llvm-strip");
    if !Command::new(&strip)
        .arg("-g")
        .args(sources.iter().map(|source| object(source)))
        .status()
        .is_ok_and(|s| s.success())
    {
        fail(&format!("{strip} could not strip the BPF objects; it comes with LLVM, in a package like llvm-19"));
    }
}

/// A tool of the same LLVM as `clang`.
fn tool(clang: &str, name: &str) -> String {
    let output = Command::new(clang).arg(format!("-print-prog-name={name}")).output();
    output.map_or_else(|_| name.to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn fail(why: &str) -> ! {
    println!("cargo:warning={why}");
    std::process::exit(1);
}
