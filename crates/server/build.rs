//! Lists the files of the built web UI, so that they are part of the binary. Cargo needs no node for it: without
//! `web/dist`, which `make web` makes, the list is empty and the server says so.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name.to_owned()));
    let dist = folder("CARGO_MANIFEST_DIR")?.join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    if dist.is_dir() {
        println!("cargo::rerun-if-changed={}", dist.display());
        gather(&dist.canonicalize()?, &mut files)?;
    }
    files.sort();
    let root = dist.canonicalize().unwrap_or(dist);
    let entries = files.iter().filter_map(|file| {
        let name = file.strip_prefix(&root).ok()?;
        Some(format!("    ({:?}, include_bytes!({:?})),\n", name.to_str()?, file.to_str()?))
    });
    let list = format!("&[\n{}]\n", entries.collect::<String>());
    fs::write(folder("OUT_DIR")?.join("ui_files.rs"), list)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
