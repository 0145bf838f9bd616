//! The layers of ARCHITECTURE.md: who may depend on whom, down to the file, and where `unsafe` may stand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::Case;
use crate::imports::{self, Imports};
use crate::recording::{Running, root, text};

/// Each crate and which of ours it may depend on.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("dwell-model", &[]),
    ("dwell-wire", &[]),
    ("dwell-view", &["dwell-model"]),
    ("dwell-live", &["dwell-model", "dwell-wire"]),
    ("dwell-cgroups", &["dwell-files"]),
    ("dwell-fleet", &["dwell-files"]),
    ("dwell-work", &[]),
    ("dwell-files", &[]),
    ("dwell-isolate", &[]),
    ("dwell-pclntab", &[]),
    ("dwell-goroutines", &["dwell-files", "dwell-pclntab"]),
    ("dwell-hotspot", &[]),
    ("dwell-v8", &[]),
    ("dwell-unwind", &["dwell-model", "dwell-wire", "dwell-files", "dwell-pclntab"]),
    ("dwell-itt-wire", &[]),
    ("dwell-itrace", &[]),
    ("dwell-machine", &["dwell-itrace"]),
    ("dwell-embed", &[]),
    ("dwell-generated", &[]),
    ("dwell-qemu", &["dwell-itrace"]),
    ("dwell-anatomy", &["dwell-itrace", "dwell-machine", "dwell-embed", "dwell-view", "dwell-work"]),
    ("dwell-probes", &["dwell-files"]),
    ("dwell-itt", &["dwell-itt-wire"]),
    ("dwell-store", &["dwell-model", "dwell-wire", "dwell-files"]),
    (
        "dwell-capture",
        &[
            "dwell-model",
            "dwell-wire",
            "dwell-store",
            "dwell-files",
            "dwell-goroutines",
            "dwell-hotspot",
            "dwell-v8",
            "dwell-unwind",
            "dwell-probes",
            "dwell-pt",
            "dwell-cgroups",
            "dwell-doctor",
            "dwell-rights",
            "dwell-itt-wire",
            "dwell-embed",
        ],
    ),
    (
        "dwell-resolve",
        &["dwell-model", "dwell-store", "dwell-files", "dwell-isolate", "dwell-itt-wire", "dwell-pclntab"],
    ),
    ("dwell-trace-dsl", &["dwell-model", "dwell-store", "dwell-view"]),
    ("dwell-query", &["dwell-model", "dwell-store", "dwell-view", "dwell-work"]),
    ("dwell-analyze", &["dwell-model", "dwell-store", "dwell-view", "dwell-work", "dwell-query"]),
    ("dwell-merge", &["dwell-model", "dwell-store"]),
    ("dwell-import", &["dwell-model", "dwell-wire", "dwell-store", "dwell-files"]),
    ("dwell-export", &["dwell-model", "dwell-store", "dwell-analyze"]),
    ("dwell-rights", &[]),
    ("dwell-doctor", &["dwell-rights"]),
    ("dwell-queues", &[]),
    ("dwell-pt", &["dwell-files"]),
    (
        "dwell-server",
        &[
            "dwell-model",
            "dwell-store",
            "dwell-view",
            "dwell-work",
            "dwell-analyze",
            "dwell-export",
            "dwell-anatomy",
            "dwell-machine",
            "dwell-itrace",
        ],
    ),
    ("dwell-bench", &["dwell-model", "dwell-store", "dwell-analyze"]),
    (
        "dwell-fuzz",
        &[
            "dwell-store",
            "dwell-capture",
            "dwell-resolve",
            "dwell-view",
            "dwell-analyze",
            "dwell-merge",
            "dwell-server",
            "dwell-unwind",
            "dwell-probes",
            "dwell-pt",
            "dwell-goroutines",
            "dwell-hotspot",
            "dwell-itt-wire",
            "dwell-machine",
            "dwell-anatomy",
            "dwell-itrace",
        ],
    ),
    (
        "dwell",
        &[
            "dwell-model",
            "dwell-store",
            "dwell-files",
            "dwell-capture",
            "dwell-resolve",
            "dwell-view",
            "dwell-analyze",
            "dwell-server",
            "dwell-merge",
            "dwell-import",
            "dwell-export",
            "dwell-cgroups",
            "dwell-live",
            "dwell-fleet",
            "dwell-unwind",
            "dwell-wire",
            "dwell-doctor",
            "dwell-queues",
            "dwell-pt",
            "dwell-rights",
            "dwell-anatomy",
            "dwell-machine",
            "dwell-itt-wire",
        ],
    ),
];

/// Knowledge that only some crates have: the library that stands for it, and who may depend on it.
const OWNERS: &[(&str, &[&str])] = &[
    ("libbpf-rs", &["dwell-capture"]),
    ("libbpf-sys", &["dwell-capture"]),
    ("gimli", &["dwell-resolve", "dwell-unwind", "dwell-probes"]),
    ("object", &["dwell-files", "dwell-goroutines", "dwell-pclntab", "dwell-probes", "dwell-resolve", "dwell-unwind"]),
    ("blazesym", &["dwell-resolve"]),
    ("parquet", &["dwell-store", "dwell-fleet"]),
    ("clap", &["dwell"]),
    ("axum", &["dwell-server"]),
    ("hyper", &["dwell-server"]),
    ("tokio", &["dwell-server", "dwell"]),
    ("ureq", &["dwell-fleet"]),
    ("rusty-s3", &["dwell-fleet"]),
    ("rmcp", &["dwell"]),
    ("landlock", &["dwell-rights"]),
    ("seccompiler", &["dwell-rights"]),
];

/// Folders and files whose code may say `unsafe`.
const UNSAFE: &[&str] = &[
    "crates/capture/src",
    "crates/isolate",
    "crates/itt/src",
    "crates/qemu/src",
    "crates/store/src/index/column.rs",
    "crates/pt/src",
    "crates/queues/src/itt.rs",
    "crates/queues/src/ticks.rs",
    // Calls DuckDB's C library, which is loaded at run time: no crate does that without being built with DuckDB.
    "crates/cli/src/sql/duckdb.rs",
];

/// Crates that read or write results, or files of the profiled program.
const MEETS_HOSTILE_FILES: &[&str] =
    &["store", "fleet", "capture", "resolve", "query", "analyze", "merge", "server", "cli", "unwind", "probes", "pt"];

/// Calls that open, make, list or delete a file by its path.
const BY_PATH: &[&str] = &[
    "File::open(",
    "File::create",
    "File::options(",
    "OpenOptions::",
    "DirBuilder::",
    "fs::read(",
    "fs::read_to_string(",
    "fs::read_dir(",
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
    "fs::hard_link(",
    "fs::create_dir",
    "fs::remove_",
    "fs::set_permissions(",
];

/// Files of these crates that may use them, each with the reason: they open no file of a result and none that the profiled
/// program chose. Those go through `dwell_files`, a result's in a folder that is held. The kernel's own files are free.
const MAY_OPEN_BY_PATH: &[(&str, &str)] = &[
    ("crates/capture/src/event_name.rs", "the kernel's tracing folder, and /sys"),
    ("crates/capture/src/kernel/requirements.rs", "the kernel's own file"),
    ("crates/capture/src/machine.rs", "/sys"),
    ("crates/capture/src/output/processor_trace.rs", "/sys"),
    ("crates/capture/src/stacks/waiting.rs", "/proc"),
    ("crates/capture/src/topics/itt/folder.rs", "makes a folder with a secret name, and removes it"),
    ("crates/capture/src/topics/itt/library.rs", "keeps Dwell's own library, and checks whose each thing there is"),
    ("crates/capture/src/unprivileged/attaching.rs", "/proc"),
    ("crates/capture/src/unprivileged/closing.rs", "a lock of Dwell's own, in its cache"),
    ("crates/capture/src/unprivileged/ids.rs", "the kernel's tracing folder, and a cache of Dwell's own"),
    ("crates/resolve/src/code/debuginfod.rs", "the user's cache of debug files"),
    ("crates/resolve/src/code/kernel.rs", "the kernel's symbols"),
    ("crates/cli/src/anatomy/replay.rs", "names in the current folder"),
    ("crates/cli/src/anatomy/run.rs", "makes the file that the user names, and never writes into one"),
    ("crates/cli/src/anatomy/system.rs", "a temporary folder of its own"),
    ("crates/cli/src/install.rs", "Dwell's own file"),
    ("crates/cli/src/lasting_secret.rs", "makes the user's own state folder; what is in it is opened from there"),
    ("crates/cli/src/output.rs", "writes what the user names with --output: a new file, or a device on purpose"),
    ("crates/cli/src/reading.rs", "names the places that a confined command may write, with O_PATH"),
    ("crates/cli/src/trust.rs", "a file of root's in /etc"),
    ("crates/cli/src/view.rs", "makes the page that the browser opens, in the user's own run-time folder"),
    ("crates/unwind/src/program.rs", "the dynamic linker's configuration in /etc"),
];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("layers::crates_know_only_what_they_may", crates_know_only_what_they_may),
        Case::new("layers::libraries_have_owners", libraries_have_owners),
        Case::new("layers::no_file_is_in_a_circle", no_file_is_in_a_circle),
        Case::new("layers::circles_are_found", circles_are_found),
        Case::new("layers::folders_know_those_before_them", folders_know_those_before_them),
        Case::new("layers::paths_follow_the_manifest", paths_follow_the_manifest),
        Case::new("layers::files_are_short", files_are_short),
        Case::new("layers::unsafe_has_its_places", unsafe_has_its_places),
        Case::new("layers::hostile_files_have_one_door", hostile_files_have_one_door),
    ]
}

/// Every package of the workspace with the names of what it depends on, for tests too.
fn packages() -> Result<Vec<(String, BTreeSet<String>)>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).current_dir(root());
    let output = Running::start(&mut command)?.finish()?;
    ensure!(output.status.success(), "cargo metadata: {}", output.stderr);
    let metadata: Value = serde_json::from_str(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().into_iter().flatten();
        // Tests make files that no Dwell writes.
        all.filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| text(dependency, "name").to_owned())
            .collect()
    };
    Ok(packages.iter().map(|package| (text(package, "name").to_owned(), dependencies(package))).collect())
}

fn is_ours(name: &str) -> bool {
    name == "dwell" || name.starts_with("dwell-")
}

fn crates_know_only_what_they_may() -> Result<()> {
    for (name, dependencies) in packages()? {
        let (_, allowed) =
            MAY_DEPEND_ON.iter().find(|(it, _)| *it == name).with_context(|| format!("{name} has no layer"))?;
        let foreign: Vec<&String> =
            dependencies.iter().filter(|it| is_ours(it) && !allowed.contains(&it.as_str())).collect();
        ensure!(foreign.is_empty(), "{name} may not depend on {foreign:?}");
    }
    Ok(())
}

fn libraries_have_owners() -> Result<()> {
    for (name, dependencies) in packages()? {
        for (library, owners) in OWNERS {
            let may = owners.contains(&name.as_str()) || !dependencies.contains(*library);
            ensure!(may, "{name} may not depend on {library}: only {owners:?}");
        }
    }
    Ok(())
}

/// Every crate's roots and what their files import of one another.
fn imports_by_crate() -> Result<Vec<(PathBuf, Imports)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let folder = entry?.path();
        for name in ["src/lib.rs", "src/main.rs"] {
            let file = folder.join(name);
            if file.exists() {
                found.push((folder.clone(), imports::of_crate(&file)?));
            }
        }
    }
    Ok(found)
}

/// Nobody reads one file of a circle without all the others. The page's are checked by `web/scripts/layers.mjs`.
fn no_file_is_in_a_circle() -> Result<()> {
    let mut all = imports_by_crate()?;
    let bpf = root().join("crates/capture/src/bpf");
    all.push((bpf.clone(), imports::of_c_sources(&bpf)?));
    ensure!(all.len() > 20, "only {} crates", all.len());
    for (folder, imports) in &all {
        let circles = imports::circles(imports);
        ensure!(circles.is_empty(), "{} has circles: {circles:#?}", folder.display());
    }
    Ok(())
}

/// The check above sees a circle through a re-export, in a group, and past a test's imports.
fn circles_are_found() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    write("lib.rs", "mod a; mod b; mod c; pub use a::A; #[cfg(test)] mod tests { use crate::c::C; }")?;
    write("a.rs", "use crate::{b::B, c}; pub struct A(B, c::C);")?;
    write("b.rs", "pub struct B(Box<crate::A>);")?;
    write("c.rs", "pub struct C; #[cfg(test)] mod tests { use crate::a::A; }")?;
    let imports = imports::of_crate(&folder.path().join("lib.rs"))?;
    let circles = imports::circles(&imports);
    let expected = vec![vec![folder.path().join("a.rs"), folder.path().join("b.rs")]];
    let found: Vec<Vec<PathBuf>> = circles.into_iter().map(|files| files.into_iter().cloned().collect()).collect();
    ensure!(found == expected, "{found:?}");
    Ok(())
}

/// The folders of a crate's sources, in the order in which data goes through them: each imports only those before it.
const FOLDERS: &[(&str, &[&str])] = &[
    ("capture", &["kernel", "programs", "stacks", "output", "topics", "drain", "hooks", "unprivileged", "collect"]),
    ("query", &["measure", "question", "stacks", "history", "engine"]),
    ("analyze", &["study", "tables", "findings", "reports"]),
    ("resolve", &["input", "replay", "code", "objects", "topics", "listing", "naming"]),
];

fn folders_know_those_before_them() -> Result<()> {
    for (name, order) in FOLDERS {
        let sources = root().join("crates").join(name).join("src");
        let place = |file: &Path| {
            let first = file.strip_prefix(&sources).ok()?.iter().next()?.to_str()?;
            order.iter().position(|folder| *folder == first)
        };
        for (file, imported) in imports::of_crate(&sources.join("lib.rs"))? {
            for other in imported {
                let (Some(ours), Some(theirs)) = (place(&file), place(&other)) else { continue };
                ensure!(theirs <= ours, "{} imports {}", file.display(), other.display());
            }
        }
    }
    Ok(())
}

/// No source reaches into another crate past its manifest, by path or by a macro.
fn paths_follow_the_manifest() -> Result<()> {
    let (attribute, include) = (["#[", "path"].concat(), ["include!", "(\""].concat());
    for file in rust_files(&root().join("crates"))? {
        let source = fs::read_to_string(&file)?;
        let reaches = |line: &str| line.contains(&attribute) || (line.contains(&include) && line.contains("../.."));
        let reaches = source.lines().any(reaches);
        ensure!(!reaches, "{} takes source from elsewhere", file.display());
    }
    Ok(())
}

/// Folders of sources, but `samples`: a program of these is one file.
const WRITTEN: [&str; 7] = ["bench", "crates", "fuzz/fuzz_targets", "scripts", "web/scripts", "web/src", "web/tests"];
const MOST_LINES: usize = 500;

/// A longer file does two things. What is generated says so, or is the kernel's.
fn files_are_short() -> Result<()> {
    let extensions = ["rs", "c", "h", "cpp", "ts", "tsx", "css", "mjs", "py", "sh"];
    for folder in WRITTEN {
        for file in files(&root().join(folder), &extensions)? {
            let source = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let is_generated = source.lines().take(3).any(|line| line.contains("Do not edit this file"));
            let is_kernels = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinux"));
            let lines = source.lines().count();
            let is_short = lines <= MOST_LINES || is_generated || is_kernels;
            ensure!(is_short, "{} has {lines} lines, more than {MOST_LINES}: split it by what it does", file.display());
        }
    }
    Ok(())
}

fn unsafe_has_its_places() -> Result<()> {
    let root = root().canonicalize()?;
    let keyword = ["un", "safe"].concat();
    for file in rust_files(&root.join("crates"))? {
        let place = file.strip_prefix(&root)?.to_owned();
        if UNSAFE.iter().any(|folder| place.starts_with(folder)) {
            continue;
        }
        let source = fs::read_to_string(&file)?;
        let mut code = source.lines().map(|line| line.split("//").next().unwrap_or_default());
        let found = code.any(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == keyword));
        ensure!(!found, "{} says {keyword}", place.display());
    }
    Ok(())
}

/// No file of a result, nor of the profiled program, is opened, made or deleted by its path: `dwell_files` does that.
fn hostile_files_have_one_door() -> Result<()> {
    let root = root().canonicalize()?;
    let mut used = BTreeSet::new();
    for file in
        MEETS_HOSTILE_FILES.iter().flat_map(|name| rust_files(&root.join(format!("crates/{name}/src")))).flatten()
    {
        let place = file.strip_prefix(&root)?.to_owned();
        if place.components().any(|part| part.as_os_str() == "tests") || place.ends_with("tests.rs") {
            continue;
        }
        let source = fs::read_to_string(&file)?;
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let Some(line) = code.lines().find(|line| opens_by_path(line)) else { continue };
        let allowed = MAY_OPEN_BY_PATH.iter().find(|(may, _)| place.as_path() == Path::new(may));
        let (name, _) = allowed.with_context(|| format!("{} opens by path: {}", place.display(), line.trim()))?;
        used.insert(*name);
    }
    let unused: Vec<&str> =
        MAY_OPEN_BY_PATH.iter().map(|(name, _)| *name).filter(|name| !used.contains(name)).collect();
    ensure!(unused.is_empty(), "{unused:?} need no leave any more");
    Ok(())
}

/// Whether a line of code opens, makes, lists or deletes by path what is not the kernel's own.
fn opens_by_path(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let is_kernels = ["\"/proc/", "\"/proc\"", "\"/sys/", "\"/dev/urandom\""].iter().any(|path| line.contains(path));
    let is_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    !is_kernels && BY_PATH.iter().any(|call| code.match_indices(call).any(|(at, _)| is_word(at)))
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    files(folder, &["rs"])
}

/// The files below a folder whose names end like these.
fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| extensions.iter().any(|extension| it == *extension)) {
                found.push(path);
            }
        }
    }
    Ok(found)
}
