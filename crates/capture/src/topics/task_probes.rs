//! `--task-probe` and `--interval`: sets uprobes where tasks begin and end, and tells the hooks at which system calls.
//!
//! The kernel sets a probe in every process that uses the file; whoever is not profiled passes it without a record, but not
//! for free. Only without children to follow can it be kept to the target processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dwell_model::SYSCALLS;
use dwell_probes::{At, Edge, Point, Site, TaskPlaces, TaskProbe, point_sites, sites};
use dwell_unwind::{parse_maps, program_files};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramMut, UprobeMultiOpts, UprobeOpts};

use crate::error::{Error, Result};
use crate::kernel::version;

/// How the names of C libraries begin that initialise locks.
const C_LIBRARIES: &[&str] = &["libc.so", "libc-2", "libpthread.so", "libpthread-2", "ld-musl-"];

/// The places of a task probe, found in a file.
pub struct FoundProbes {
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
    pub fn file(&self, name: &Path) -> Option<PathBuf> {
        if name.components().count() > 1 || name.is_file() {
            return Some(name.to_owned()).filter(|path| path.is_file());
        }
        let is_named = |path: &PathBuf| path.file_name() == Some(name.as_os_str());
        let used = match self {
            Self::Path(path) => links_and_targets(&program_files(path), name),
            Self::Process(pid) => mapped_files(*pid).find(is_named),
        };
        let search = std::env::var_os("PATH").unwrap_or_default();
        used.or_else(|| std::env::split_paths(&search).map(|folder| folder.join(name)).find(|path| path.is_file()))
    }

    /// The C libraries that it uses; none where it is linked statically.
    pub fn c_libraries(&self) -> Vec<PathBuf> {
        let is_c_library = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            C_LIBRARIES.iter().any(|library| name.starts_with(library))
        };
        let files: Vec<PathBuf> = match self {
            Self::Path(path) => program_files(path).into_iter().filter(is_c_library).collect(),
            Self::Process(pid) => mapped_files(*pid).filter(is_c_library).collect(),
        };
        let distinct: BTreeSet<PathBuf> = files.into_iter().collect();
        distinct.into_iter().collect()
    }

    /// The program itself.
    pub fn own_file(&self) -> PathBuf {
        match self {
            Self::Path(path) => (*path).to_owned(),
            Self::Process(pid) => format!("/proc/{pid}/exe").into(),
        }
    }
}

/// The files that a process has mapped, by paths that lead to them from here.
fn mapped_files(pid: u32) -> impl Iterator<Item = PathBuf> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let mapped = parse_maps(pid, &maps).into_iter().map(|mapping| mapping.path);
    mapped.filter_map(move |path| Some(root.join(path.strip_prefix("/").ok()?)))
}

/// The file among `files`, which are without links, that `name` stands for: itself, or a link to it in its folder.
fn links_and_targets(files: &[PathBuf], name: &Path) -> Option<PathBuf> {
    let leads_to = |file: &PathBuf| {
        let link = file.with_file_name(name);
        file.file_name() == Some(name.as_os_str()) || link.canonicalize().is_ok_and(|target| target == *file)
    };
    files.iter().find(|file| leads_to(file)).cloned()
}

/// The begin or end of a system call that is an end of an interval.
pub struct CallPoint {
    probe: usize,
    edge: Edge,
    number: i16,
}

/// The places of all probes.
#[derive(Default)]
pub struct ProbePlaces {
    /// In files.
    pub found: Vec<FoundProbes>,
    /// System calls.
    pub calls: Vec<CallPoint>,
}

/// Finds the places of all probes.
pub fn find(probes: &[TaskProbe], program: &Program<'_>) -> Result<ProbePlaces> {
    let mut places = ProbePlaces::default();
    for (number, probe) in probes.iter().enumerate() {
        match &probe.place {
            TaskPlaces::Points { begin, end } => {
                find_point(&mut places, (number, probe), begin, Edge::Begin, program)?;
                find_point(&mut places, (number, probe), end, Edge::End, program)?;
            }
            place => {
                let file = file_of(probe, probe.file.as_deref(), program)?;
                let sites = sites(&file, place)?;
                places.found.push(FoundProbes { probe: number, name: probe.name.clone(), file, sites });
            }
        }
    }
    Ok(places)
}

fn find_point(
    places: &mut ProbePlaces,
    (number, probe): (usize, &TaskProbe),
    point: &Point,
    edge: Edge,
    program: &Program<'_>,
) -> Result<()> {
    if let At::Call(name) = &point.at {
        let call = SYSCALLS.iter().find(|call| call.name == name);
        let call = call.ok_or_else(|| Error::NoSuchCall { probe: probe.name.clone(), name: name.clone() })?;
        places.calls.push(CallPoint { probe: number, edge, number: call.number });
        return Ok(());
    }
    let file = file_of(probe, point.file.as_deref(), program)?;
    let sites = point_sites(&file, &point.at, edge)?;
    places.found.push(FoundProbes { probe: number, name: probe.name.clone(), file, sites });
    Ok(())
}

fn file_of(probe: &TaskProbe, file: Option<&Path>, program: &Program<'_>) -> Result<PathBuf> {
    let missing = |file: &Path| Error::NoSuchProbeFile { probe: probe.name.clone(), file: file.to_owned() };
    match file {
        Some(file) => program.file(file).ok_or_else(|| missing(file)),
        None => Ok(program.own_file()),
    }
}

/// A file that stays the same whatever happens to its path: probes are set where its symbols were found, and not in what
/// another takes its place.
pub struct PinnedFile {
    /// Leads to the file as long as this lives.
    pub path: PathBuf,
    _file: File,
}

impl PinnedFile {
    /// Opens a regular file; `own_only` = only one of this user's, in whose programs alone the probes will be.
    pub fn open(path: &Path, own_only: bool) -> Result<Self> {
        let failed = |source| Error::System { what: "opening a file for probes", source };
        let file = dwell_files::open_regular(path).map_err(failed)?;
        let owner = file.metadata().map_err(failed)?.uid();
        if own_only && owner != rustix::process::getuid().as_raw() {
            return Err(failed(io::ErrorKind::PermissionDenied.into()));
        }
        Ok(Self { path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(), _file: file })
    }
}

/// What the hooks are told of a pass: the probe's number and what happens to its task.
fn cookie(probe: usize, edge: Edge) -> u64 {
    (probe as u64) << 2 | edge as u64
}

/// Most intervals that begin, or end, at one system call.
const MOST_AT_A_CALL: usize = 4;

/// Tells the hooks which system calls are ends of intervals: a map from the call's number << 1, + 1 for its end, to cookies
/// + 1.
pub fn set_calls(calls: &[CallPoint], object: &Object) -> Result<()> {
    let failed = |source| Error::Bpf { what: "setting the calls of intervals".into(), source };
    let Some(map) = object.maps().find(|map| map.name() == "call_probes") else { return Ok(()) };
    let mut by_key: BTreeMap<u32, [u64; MOST_AT_A_CALL]> = BTreeMap::new();
    for call in calls {
        let key = (call.number as u32) << 1 | u32::from(call.edge == Edge::End);
        let cookies = by_key.entry(key).or_default();
        let free = cookies.iter_mut().find(|cookie| **cookie == 0);
        *free.ok_or(Error::TooManyAtACall { most: MOST_AT_A_CALL })? = cookie(call.probe, call.edge) + 1;
    }
    for (key, cookies) in by_key {
        map.update(&key.to_ne_bytes(), bytemuck::bytes_of(&cookies), MapFlags::ANY).map_err(failed)?;
    }
    Ok(())
}

/// Sets the probes; `pids` = in these processes only. They are there until the links are dropped.
pub fn set(found: &[FoundProbes], object: &Object, pids: Option<&[u32]>) -> Result<Vec<Link>> {
    let cookies = |found: &FoundProbes| found.sites.iter().map(|site| cookie(found.probe, site.edge)).collect();
    let placed = found.iter().map(|found| PlacedProbe {
        name: &found.name,
        file: &found.file,
        sites: &found.sites,
        cookies: cookies(found),
    });
    set_placed(placed, object, pids)
}

/// A probe's places in a file, and what the hook is told at each.
pub struct PlacedProbe<'p> {
    /// Of the probe.
    pub name: &'p str,
    /// Where it is.
    pub file: &'p Path,
    /// In the file.
    pub sites: &'p [Site],
    /// One for each place.
    pub cookies: Vec<u64>,
}

/// Sets probes with these cookies, as [`set`].
pub fn set_placed<'p>(
    placed: impl Iterator<Item = PlacedProbe<'p>>,
    object: &Object,
    pids: Option<&[u32]>,
) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    let Some(program) = object.progs_mut().next() else { return Ok(links) };
    let pids: Vec<i32> = pids.map_or_else(|| vec![-1], |pids| pids.iter().map(|&pid| pid as i32).collect());
    for placed in placed.filter(|placed| !placed.sites.is_empty()) {
        for &pid in &pids {
            let set = if version::sets_probes_at_once() {
                set_at_once(&placed, &program, pid)
            } else {
                set_each(&placed, &program, pid)
            };
            let refused = |source| Error::TaskProbeRefused { probe: placed.name.to_owned(), source };
            links.extend(set.map_err(refused)?);
        }
    }
    Ok(links)
}

fn set_at_once(placed: &PlacedProbe<'_>, program: &ProgramMut<'_>, pid: i32) -> libbpf_rs::Result<Vec<Link>> {
    let options = UprobeMultiOpts {
        offsets: placed.sites.iter().map(|site| site.offset as usize).collect(),
        ref_ctr_offsets: placed.sites.iter().map(|site| site.semaphore as usize).collect(),
        cookies: placed.cookies.clone(),
        ..UprobeMultiOpts::default()
    };
    Ok(vec![program.attach_uprobe_multi_with_opts(pid, placed.file, "", options)?])
}

fn set_each(placed: &PlacedProbe<'_>, program: &ProgramMut<'_>, pid: i32) -> libbpf_rs::Result<Vec<Link>> {
    let set = |(site, &cookie): (&Site, &u64)| {
        let options = UprobeOpts { ref_ctr_offset: site.semaphore as usize, cookie, ..UprobeOpts::default() };
        program.attach_uprobe_with_opts(pid, placed.file, site.offset as usize, options)
    };
    placed.sites.iter().zip(&placed.cookies).map(set).collect()
}
