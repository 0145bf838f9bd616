//! Builds the plug-in that QEMU loads, and the guest's program; both become part of the binary.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_embed::Library;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let library = Library { package: "dwell-qemu", features: &[], sources: &["qemu", "itrace"] };
    let (path, _) = dwell_embed::build(&manifest.join("../.."), library, &out);
    println!("cargo:rustc-env=DWELL_QEMU_PLUGIN={}", path.display());
    build_guest(&manifest, &out.join("guest"));
}

/// The first program of the guest: without a C library, so that nothing but it and the kernel is traced.
/// Its line numbers name no folder of this machine.
fn build_guest(manifest: &Path, program: &Path) {
    let source = manifest.join("guest/guest.c");
    println!("cargo:rerun-if-changed={}", source.display());
    println!("cargo:rerun-if-env-changed=CLANG");
    let mut clang = Command::new(dwell_embed::clang());
    clang.args([
        "-O2",
        "-g",
        "-Wall",
        "-Werror",
        "-static",
        "-nostdlib",
        "-ffreestanding",
        "-fno-stack-protector",
        "-fno-pic",
    ]);
    clang.arg(format!("-ffile-prefix-map={}=/dwell/crates/anatomy", manifest.display()));
    let built = clang.arg("-o").arg(program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("cargo:warning={} could not be compiled", source.display());
        std::process::exit(1);
    }
}
