//! Compiles the BPF programs with clang (`CLANG` names another compiler than the newest that is found), and the library that
//! instrumented programs load, which becomes part of the binary.

use std::env;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

use dwell_embed::Library;
use libbpf_cargo::SkeletonBuilder;

const PROGRAMS: &[&str] = &[
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
    let clang = dwell_embed::clang();
    for program in PROGRAMS {
        compile(&clang, &manifest.join(format!("src/bpf/{program}.bpf.c")), &wire, &out);
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

fn compile(clang: &str, source: &Path, wire: &Path, out: &Path) {
    let object = out.join(source.file_stem().unwrap_or_default()).with_extension("bpf.o");
    let include = |path: &Path| format!("-I{}", path.display());
    let args = ["-O2", "-g", "-Wall", "-Werror", "-mcpu=v1"].map(String::from).into_iter().chain([include(wire)]);
    let built = SkeletonBuilder::new().source(source).obj(&object).clang(clang).clang_args(args).build();
    if let Err(error) = built {
        println!("cargo:warning={}: {error:#}", source.display());
        std::process::exit(1);
    }
}
