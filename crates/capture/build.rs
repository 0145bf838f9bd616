//! Compiles the BPF programs with clang (`CLANG` names another compiler than the newest that is found), and the library that
//! instrumented programs load, which becomes part of the binary.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_cargo::SkeletonBuilder;

const PROGRAMS: &[&str] = &["threads", "switch", "waking", "sample", "task_probe", "stitch", "system", "sockets"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let wire = manifest.join("../store/src/raw");
    println!("cargo:rerun-if-changed={}", manifest.join("src/bpf").display());
    println!("cargo:rerun-if-changed={}", wire.join("wire.h").display());
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = clang();
    for program in PROGRAMS {
        compile(&clang, &manifest.join(format!("src/bpf/{program}.bpf.c")), &wire, &out);
    }
    build_library(&manifest.join("../.."), &out);
}

/// Builds crates/itt by a cargo of its own, in a target folder of its own, whose lock nobody holds: cargo's dependencies on
/// artifacts are not stable. Always optimized, and always for this machine's C library: other programs load it.
fn build_library(root: &Path, out: &Path) {
    for path in ["crates/itt", "crates/itt-wire", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    let target = out.join("itt");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "dwell-itt",
        "--features",
        "bare",
        "--target-dir",
    ]);
    cargo.arg(&target);
    for setting in ["strip=true", "lto=true", "codegen-units=1", "panic=\"abort\""] {
        cargo.arg("--config").arg(format!("profile.release.{setting}"));
    }
    // What was asked of the build of Dwell (clippy, sanitizers, another target) is not asked of this one.
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_build(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let built = cargo.status().is_ok_and(|status| status.success());
    let library = target.join("release/libdwell_itt.so");
    let Some(bytes) = fs::read(&library).ok().filter(|_| built) else {
        println!("cargo:warning=crates/itt could not be built: cargo build --release -p dwell-itt says why");
        std::process::exit(1);
    };
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    println!("cargo:rustc-env=DWELL_ITT_HASH={:016x}", hasher.finish());
    println!("cargo:rustc-env=DWELL_ITT_LIBRARY={}", library.display());
}

fn is_of_this_build(variable: &str) -> bool {
    let ours = ["RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "TARGET", "HOST", "OUT_DIR", "PROFILE", "OPT_LEVEL", "DEBUG"];
    (variable.starts_with("CARGO_") && variable != "CARGO_HOME") || ours.contains(&variable)
}

fn compile(clang: &str, source: &Path, wire: &Path, out: &Path) {
    let object = out.join(source.file_stem().unwrap_or_default()).with_extension("bpf.o");
    let include = |path: &Path| format!("-I{}", path.display());
    let args = ["-O2".into(), "-g".into(), "-Wall".into(), "-Werror".into(), include(wire)];
    let built = SkeletonBuilder::new().source(source).obj(&object).clang(clang).clang_args(args).build();
    if let Err(error) = built {
        println!("cargo:warning={}: {error:#}", source.display());
        std::process::exit(1);
    }
}

fn clang() -> String {
    let runs = |name: &String| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let named = env::var("CLANG").ok().into_iter();
    let versioned = (15..=22).rev().map(|version| format!("clang-{version}"));
    named.chain(versioned).find(runs).unwrap_or_else(|| "clang".into())
}
