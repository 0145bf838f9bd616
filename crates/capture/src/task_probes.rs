//! `--task-probe`: sets uprobes where tasks begin and end.
//!
//! The kernel sets a probe in every process that uses the file; whoever is not profiled passes it without a record, but not
//! for free. Only without children to follow can it be kept to the target processes.

use std::path::{Path, PathBuf};

use dwell_probes::{Site, TaskProbe, sites};
use dwell_unwind::{parse_maps, program_files};
use libbpf_rs::{Link, Object, UprobeOpts};

use crate::error::{Error, Result};

/// The places of a task probe, found in a file.
pub struct Found {
    pub probe: usize,
    pub name: String,
    pub file: PathBuf,
    pub sites: Vec<Site>,
}

/// Where the files of probes are looked for.
pub enum Program<'a> {
    /// A program about to be launched.
    Path(&'a Path),
    /// A process that runs.
    Process(u32),
}

impl Program<'_> {
    /// The file that the user calls `name`: a path, or the name of a file that the program uses, or a program in PATH.
    fn file(&self, name: &Path) -> Option<PathBuf> {
        if name.components().count() > 1 || name.is_file() {
            return Some(name.to_owned()).filter(|path| path.is_file());
        }
        let is_named = |path: &PathBuf| path.file_name() == Some(name.as_os_str());
        let used = match self {
            Self::Path(path) => links_and_targets(&program_files(path), name),
            Self::Process(pid) => {
                let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
                let root = PathBuf::from(format!("/proc/{pid}/root"));
                let mapped = parse_maps(*pid, &maps).into_iter().map(|mapping| mapping.path);
                let mapped = mapped.filter(|path| is_named(path) && path.is_absolute());
                mapped.filter_map(|path| Some(root.join(path.strip_prefix("/").ok()?))).next()
            }
        };
        let search = std::env::var_os("PATH").unwrap_or_default();
        used.or_else(|| std::env::split_paths(&search).map(|folder| folder.join(name)).find(|path| path.is_file()))
    }

    fn own_file(&self) -> PathBuf {
        match self {
            Self::Path(path) => (*path).to_owned(),
            Self::Process(pid) => format!("/proc/{pid}/exe").into(),
        }
    }
}

/// The file among `files`, which are without links, that `name` stands for: itself, or a link to it in its folder.
fn links_and_targets(files: &[PathBuf], name: &Path) -> Option<PathBuf> {
    let leads_to = |file: &PathBuf| {
        let link = file.with_file_name(name);
        file.file_name() == Some(name.as_os_str()) || link.canonicalize().is_ok_and(|target| target == *file)
    };
    files.iter().find(|file| leads_to(file)).cloned()
}

/// Finds the places of all probes.
pub fn find(probes: &[TaskProbe], program: &Program<'_>) -> Result<Vec<Found>> {
    let find = |(number, probe): (usize, &TaskProbe)| {
        let missing = |file: &Path| Error::NoSuchProbeFile { probe: probe.name.clone(), file: file.to_owned() };
        let file = match &probe.file {
            Some(file) => program.file(file).ok_or_else(|| missing(file))?,
            None => program.own_file(),
        };
        let sites = sites(&file, &probe.place)?;
        Ok(Found { probe: number, name: probe.name.clone(), file, sites })
    };
    probes.iter().enumerate().map(find).collect()
}

/// Sets the probes; `pids` = in these processes only. They are there until the links are dropped.
pub fn set(found: &[Found], object: &Object, pids: Option<&[u32]>) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    let Some(program) = object.progs_mut().next() else { return Ok(links) };
    let pids: Vec<i32> = pids.map_or_else(|| vec![-1], |pids| pids.iter().map(|&pid| pid as i32).collect());
    for Found { probe, name, file, sites } in found {
        let refused = |source| Error::TaskProbeRefused { probe: name.clone(), source };
        for &pid in &pids {
            for site in sites {
                let options = UprobeOpts {
                    ref_ctr_offset: site.semaphore as usize,
                    cookie: (*probe as u64) << 1 | u64::from(site.end),
                    ..UprobeOpts::default()
                };
                let link = program.attach_uprobe_with_opts(pid, file, site.offset as usize, options);
                links.push(link.map_err(refused)?);
            }
        }
    }
    Ok(links)
}
