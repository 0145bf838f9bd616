//! Names: a reader who meets a public type's name in a crate need not ask which of them it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::harness::Case;
use crate::recording::root;

pub fn cases() -> Vec<Case> {
    vec![Case::new("names::once_per_crate", once_per_crate)]
}

/// No two public types of one crate have the same name.
fn once_per_crate() -> Result<()> {
    let mut twice: Vec<String> = Vec::new();
    let mut all = 0;
    for entry in fs::read_dir(root().join("crates"))? {
        let folder = entry?.path();
        let mut files_of: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for file in rust_files(&folder.join("src"))? {
            for name in public_types(&fs::read_to_string(&file)?) {
                files_of.entry(name).or_default().push(file.clone());
            }
        }
        all += files_of.len();
        let several = files_of.into_iter().filter(|(_, files)| files.len() > 1);
        twice.extend(several.map(|(name, files)| format!("{name} in {files:?}")));
    }
    ensure!(all > 500, "only {all} public types were found");
    ensure!(twice.is_empty(), "one name, several types:\n{}", twice.join("\n"));
    Ok(())
}

/// The Rust files below a folder, but for tests.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(files) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match () {
            () if name.starts_with("tests") => {}
            () if path.is_dir() => files.extend(rust_files(&path)?),
            () if name.ends_with(".rs") => files.push(path),
            () => {}
        }
    }
    Ok(files)
}

/// Names of the public types that a source declares at the edge of a line, before its tests.
fn public_types(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let name = |line: &str| {
        let rest = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "))?;
        let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| rest.strip_prefix(word))?;
        Some(rest.split(|letter: char| !letter.is_alphanumeric()).next()?.to_owned())
    };
    code.lines().filter_map(name).collect()
}
