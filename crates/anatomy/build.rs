//! Builds the plug-in that QEMU loads, which becomes part of the binary.

use std::env;
use std::path::PathBuf;

use dwell_embed::Library;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let library = Library { package: "dwell-qemu", features: &[], sources: &["qemu", "itrace"] };
    let (path, _) = dwell_embed::build(&manifest.join("../.."), library, &out);
    println!("cargo:rustc-env=DWELL_QEMU_PLUGIN={}", path.display());
}
