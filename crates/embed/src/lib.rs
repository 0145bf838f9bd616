//! For build scripts: builds a library that other programs load, so that it can be part of the binary.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library of the workspace.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// Its package.
    pub package: &'a str,
    /// Features of the package.
    pub features: &'a [&'a str],
    /// The folders below `crates` that it is made from.
    pub sources: &'a [&'a str],
}

/// Builds the library by a cargo of its own, in a folder of its own below `out`, whose lock nobody holds: cargo's
/// dependencies on artifacts are not stable. Always optimized, and always for this machine's C library: other programs load
/// it, by the linker of the build of Dwell: `make dist` names one for an older C library. Returns its path and content; a
/// failure ends the build with a warning.
pub fn build(root: &Path, library: Library<'_>, out: &Path) -> (PathBuf, Vec<u8>) {
    println!("cargo:rerun-if-changed={}", root.join("Cargo.toml").display());
    for source in library.sources {
        println!("cargo:rerun-if-changed={}", root.join("crates").join(source).display());
    }
    let target = out.join(library.package);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["build", "--quiet", "--locked", "--release", "--package", library.package]);
    if !library.features.is_empty() {
        cargo.arg("--features").arg(library.features.join(","));
    }
    cargo.arg("--target-dir").arg(&target);
    for setting in ["strip=true", "lto=true", "codegen-units=1", "panic=\"abort\""] {
        cargo.arg("--config").arg(format!("profile.release.{setting}"));
    }
    // What was asked of the build of Dwell (clippy, sanitizers, another target) is not asked of this one.
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_build(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let built = cargo.status().is_ok_and(|status| status.success());
    let file = target.join("release").join(format!("lib{}.so", library.package.replace('-', "_")));
    let Some(bytes) = fs::read(&file).ok().filter(|_| built) else {
        println!("cargo:warning={0} could not be built: cargo build --release -p {0} says why", library.package);
        std::process::exit(1);
    };
    (file, bytes)
}

fn is_of_this_build(variable: &str) -> bool {
    let ours = ["RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "TARGET", "HOST", "OUT_DIR", "PROFILE", "OPT_LEVEL", "DEBUG"];
    let linker = variable.starts_with("CARGO_TARGET_") && variable.ends_with("_LINKER");
    (variable.starts_with("CARGO_") && variable != "CARGO_HOME" && !linker) || ours.contains(&variable)
}

/// The C compiler for what is not this machine's own code: `$CLANG`, else the newest that is found.
pub fn clang() -> String {
    let runs = |name: &String| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let named = env::var("CLANG").ok().into_iter();
    let versioned = (15..=22).rev().map(|version| format!("clang-{version}"));
    named.chain(versioned).find(runs).unwrap_or_else(|| "clang".into())
}
