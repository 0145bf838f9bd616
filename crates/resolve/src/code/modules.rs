//! The files that code was mapped from: which they are, and whether the file on this disk is still the same.
//!
//! A file whose build id differs from the recorded one is not used at all: wrong names are worse than none.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dwell_files::{BoundedFile, open_regular};
use dwell_model::RUN_TIME_CODE;
use dwell_store::raw::wire::MapHeader;
use dwell_store::{Folder, KeptFile, module_identity};
use object::elf::{PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object};

use crate::code::access::{ReaderAccess, real_path};
use crate::code::files::MOST_ELF_BYTES;

/// Number of the kernel's module.
pub const KERNEL: u32 = 0;
/// Number that stands for code in no known file.
pub const UNKNOWN: u32 = u32::MAX;

/// What memory without a file is called.
const ANONYMOUS: &str = "[anon]";
/// Memory that runtimes map twice, to write code into one and to run it from the other: Erlang's (asmjit's VirtMem), .NET's.
const MAPPED_TWICE: &[&str] = &["/memfd:vmem", "/memfd:doublemapper"];
const PAGE: u64 = 4096;
/// More program headers than any real file has.
const MOST_SEGMENTS: usize = 1024;

/// A loadable part of an ELF file.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    file_bytes: u64,
    address: u64,
    memory_bytes: u64,
    executable: bool,
}

/// One file, as mapped.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Path as recorded, or a name in brackets.
    pub path: String,
    /// Build id in hexadecimal, empty when not recorded.
    pub build_id: String,
    /// What tells it from other files of its path; empty when nothing does.
    identity: String,
    /// The name by which it was started, where that is a link to it and the only one: `redis-server`, which is one to `redis-check-rdb`.
    started_as: Option<String>,
    /// The file that is known to be it.
    pub file: Option<PathBuf>,
    /// The file that holds its debug information, when that is another one.
    pub debug_file: Option<PathBuf>,
    segments: Vec<Segment>,
}

/// Why a module's file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleProblem {
    /// It is not there or cannot be read.
    Missing,
    /// It is another one than was profiled.
    Changed(PathBuf),
}

impl Module {
    /// The name without its folder.
    pub fn base(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is a file with code, not memory that code was written into.
    pub fn is_file(&self) -> bool {
        is_file(&self.path) || self.path == "[vdso]"
    }

    /// Whether it is memory without a file: each process has its own.
    pub fn is_anonymous(&self) -> bool {
        self.path == ANONYMOUS
    }

    /// The name for code without a symbol.
    pub fn code_name(&self, offset: u64) -> String {
        format!("{}+{offset:#x}", self.bracketed())
    }

    /// The name for a function without a symbol that begins at `start`.
    pub fn function_name(&self, start: u64) -> String {
        format!("{}func@{start:#x}", self.bracketed())
    }

    /// What names begin with that are no symbols.
    fn bracketed(&self) -> String {
        let base = self.started_as.as_deref().unwrap_or_else(|| self.base());
        if base.starts_with('[') { base.to_owned() } else { format!("[{base}]") }
    }

    /// The ELF address of what lies at `offset` of the file; the offset itself when the file is not known.
    pub fn address(&self, offset: u64) -> u64 {
        let holds = |segment: &&Segment| {
            let start = segment.offset & !(PAGE - 1);
            offset >= start && offset < segment.offset.saturating_add(segment.file_bytes)
        };
        let executable = self.segments.iter().filter(|segment| segment.executable).find(holds);
        let segment = executable.or_else(|| self.segments.iter().find(holds));
        segment.map_or(offset, |segment| segment.address.wrapping_sub(segment.offset).wrapping_add(offset))
    }

    /// Whether data of the file lies at this ELF address, those without contents in it included: what threads wait on is no code.
    pub fn is_data(&self, address: u64) -> bool {
        let within = |segment: &Segment| address.wrapping_sub(segment.address) < segment.memory_bytes;
        self.segments.iter().any(|segment| within(segment) && !segment.executable)
    }
}

/// Where to look for files.
pub struct Places<'a> {
    /// `--search-dir`, in order.
    pub search_dirs: &'a [PathBuf],
    /// The result's folder of code that is in no file, where it has one.
    pub modules: Option<&'a Folder>,
    /// When the collection ended: a file without a build id that was written later is another one.
    pub ended: Option<SystemTime>,
}

/// Every module of the trace, each file once. Number 0 is the kernel.
pub struct Modules {
    modules: Vec<Module>,
    /// By path and identity.
    numbers: HashMap<(String, String), u32>,
}

impl Default for Modules {
    fn default() -> Self {
        let kernel = Module { path: "[kernel]".into(), ..Module::default() };
        Self { modules: vec![kernel], numbers: HashMap::new() }
    }
}

impl Modules {
    /// The module of a recorded mapping.
    pub fn of_mapping(&mut self, map: &MapHeader, path: &[u8]) -> u32 {
        let build_id = map.build_id.get(..map.build_id_bytes as usize).unwrap_or_default();
        let path = String::from_utf8_lossy(path);
        let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
        if path.is_empty() || path.starts_with("//anon") || MAPPED_TWICE.contains(&path) {
            return self.intern(ANONYMOUS, &[], String::new());
        }
        let identity = module_identity(build_id, map.device, map.inode).filter(|_| is_file(path));
        self.intern(path, build_id, identity.unwrap_or_default())
    }

    /// The module of the run-time code of a process of this name.
    pub fn of_jit(&mut self, process: &str) -> u32 {
        self.intern(&format!("{RUN_TIME_CODE}{process}"), &[], String::new())
    }

    /// The module of a file of functions of scripts.
    pub fn of_scripts(&mut self, path: &str) -> u32 {
        self.intern(path, &[], String::new())
    }

    fn intern(&mut self, path: &str, build_id: &[u8], identity: String) -> u32 {
        let next = u32::try_from(self.modules.len()).unwrap_or(UNKNOWN);
        let number = *self.numbers.entry((path.to_owned(), identity.clone())).or_insert(next);
        if number == next {
            let (path, build_id) = (path.to_owned(), hexadecimal(build_id));
            self.modules.push(Module { path, build_id, identity, ..Module::default() });
        }
        number
    }

    /// The module `number`.
    pub fn get(&self, number: u32) -> Option<&Module> {
        self.modules.get(number as usize)
    }

    /// Every module, by number.
    pub fn all(&self) -> &[Module] {
        &self.modules
    }

    /// The module `number`, to be completed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Module> {
        self.modules.get_mut(number as usize)
    }

    /// Calls the modules that were started by links by these links' names. `programs` are paths; those that lead to one module by
    /// several names, as to `busybox`, leave it its own.
    pub fn name_after_links<'p>(&mut self, programs: impl Iterator<Item = &'p str>) {
        let programs: BTreeSet<&str> = programs.collect();
        let mut names: HashMap<String, BTreeSet<&str>> = HashMap::new();
        for program in programs.into_iter().filter(|program| is_file(program)) {
            let file = open_regular(Path::new(program)).ok().and_then(|file| real_path(&file));
            let Some((file, name)) = file.and_then(|file| file.into_os_string().into_string().ok()).zip(base(program))
            else {
                continue;
            };
            names.entry(file).or_default().insert(name);
        }
        for module in &mut self.modules {
            let mut names = names.get(&module.path).into_iter().flatten();
            let only = names.next().filter(|_| names.next().is_none());
            // `python3` is a link to `python3.11`, which says more.
            module.started_as = only.filter(|name| !module.base().starts_with(**name)).map(|name| (*name).to_owned());
        }
    }

    /// Finds every module's file among those that `access` admits. Returns what was not found.
    pub fn locate(&mut self, places: &Places<'_>, access: &mut ReaderAccess) -> Vec<(u32, ModuleProblem)> {
        let mut problems = Vec::new();
        for (number, module) in self.modules.iter_mut().enumerate().skip(1) {
            match locate(module, places, access) {
                Ok((file, segments)) => (module.file, module.segments) = (Some(file), segments),
                Err(problem) => problems.push((number as u32, problem)),
            }
        }
        problems
    }
}

fn base(path: &str) -> Option<&str> {
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

fn locate(
    module: &Module,
    places: &Places<'_>,
    access: &mut ReaderAccess,
) -> Result<(PathBuf, Vec<Segment>), ModuleProblem> {
    let mut problem = ModuleProblem::Missing;
    for path in candidates(module, places) {
        if !access.admits(&path) {
            continue;
        }
        let Some((build_id, segments)) = read_elf(&path) else { continue };
        let same = if module.build_id.is_empty() {
            // Copies of a result have the date of their copying.
            let is_kept = places.modules.is_some_and(|modules| path.starts_with(modules.path()));
            is_kept || !written_after(&path, places.ended)
        } else {
            same_build(&build_id, &module.build_id)
        };
        if same {
            return Ok((path, segments));
        }
        problem = ModuleProblem::Changed(path);
    }
    Err(problem)
}

fn candidates(module: &Module, places: &Places<'_>) -> Vec<PathBuf> {
    if module.path == "[vdso]" {
        return kept("vdso.so", places).into_iter().collect();
    }
    if !is_file(&module.path) {
        return Vec::new();
    }
    let name = KeptFile::Module { identity: module.identity.clone() }.file_name();
    let mut paths: Vec<PathBuf> = kept(&name, places).into_iter().collect();
    paths.push(PathBuf::from(&module.path));
    for folder in places.search_dirs {
        paths.push(folder.join(module.base()));
        paths.push(folder.join(module.path.trim_start_matches('/')));
    }
    paths
}

/// A file that the collector kept; the collector makes no links.
fn kept(name: &str, places: &Places<'_>) -> Option<PathBuf> {
    let modules = places.modules.filter(|modules| modules.has_file(name))?;
    Some(modules.path().join(name))
}

fn is_file(path: &str) -> bool {
    path.starts_with('/') && !["//", "/dev/", "/memfd:", "/SYSV"].iter().any(|mark| path.starts_with(mark))
}

/// Perf records 20 bytes and pads shorter ids with zeros.
pub fn same_build(found: &str, recorded: &str) -> bool {
    !found.is_empty() && found.trim_end_matches('0') == recorded.trim_end_matches('0')
}

fn written_after(path: &Path, ended: Option<SystemTime>) -> bool {
    let written = path.metadata().and_then(|metadata| metadata.modified()).ok();
    matches!((written, ended), (Some(written), Some(ended)) if written > ended)
}

/// The build id of an ELF file in hexadecimal, empty when it has none; `None` when the file is not ELF.
pub fn read_build_id(path: &Path) -> Option<String> {
    read_elf(path).map(|(build_id, _)| build_id)
}

/// The build id and loadable segments of an ELF file for x86-64; `None` for any other file.
fn read_elf(path: &Path) -> Option<(String, Vec<Segment>)> {
    let bytes = BoundedFile::open(path, MOST_ELF_BYTES).ok()?;
    let elf = ElfFile64::<Endianness, _>::parse(&bytes).ok()?;
    let build_id = elf.build_id().ok().flatten().map(hexadecimal).unwrap_or_default();
    let endian = elf.endian();
    let loads = elf.elf_program_headers().iter().filter(|header| header.p_type(endian) == PT_LOAD);
    let segments = loads.take(MOST_SEGMENTS).map(|header| Segment {
        offset: header.p_offset(endian),
        file_bytes: header.p_filesz(endian),
        address: header.p_vaddr(endian),
        memory_bytes: header.p_memsz(endian),
        executable: header.p_flags(endian).0 & PF_X.0 != 0,
    });
    Some((build_id, segments.collect()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_program() -> Modules {
        let mut modules = Modules::default();
        let path = std::env::current_exe().expect("path");
        modules.of_mapping(&map(&[]), path.to_string_lossy().as_bytes());
        modules
    }

    fn map(build_id: &[u8]) -> MapHeader {
        let mut map: MapHeader = bytemuck::Zeroable::zeroed();
        map.build_id[..build_id.len()].copy_from_slice(build_id);
        map.build_id_bytes = build_id.len() as u32;
        map
    }

    fn places(search_dirs: &[PathBuf]) -> Places<'_> {
        Places { search_dirs, modules: None, ended: None }
    }

    #[test]
    fn memory_that_is_mapped_twice_is_memory() {
        let mut modules = Modules::default();
        let mut is_anonymous = |path: &[u8]| {
            let number = modules.of_mapping(&map(&[]), path);
            modules.get(number).is_some_and(Module::is_anonymous)
        };
        assert!(is_anonymous(b"//anon") && is_anonymous(b"/memfd:vmem (deleted)"));
        assert!(!is_anonymous(b"/memfd:runc_cloned (deleted)"), "a program");
    }

    #[test]
    fn a_file_is_found_and_its_addresses_follow_its_segments() {
        let mut modules = this_program();
        assert_eq!(modules.locate(&places(&[]), &mut ReaderAccess::default()), []);
        let module = modules.get(1).expect("module");
        let code = module.segments.iter().find(|segment| segment.executable).expect("code");
        assert_eq!(module.address(code.offset + 5), code.address + 5);
        assert!(!module.is_data(code.address));
        assert!(module.segments.iter().any(|segment| module.is_data(segment.address)));
        assert!(!module.is_data(u64::MAX));
    }

    #[test]
    fn a_file_of_another_build_is_not_used() {
        let mut modules = Modules::default();
        let path = std::env::current_exe().expect("path");
        modules.of_mapping(&map(&[1; 20]), path.to_string_lossy().as_bytes());
        assert_eq!(modules.locate(&places(&[]), &mut ReaderAccess::default()), [(1, ModuleProblem::Changed(path))]);
        assert!(modules.get(1).expect("module").file.is_none());
    }

    #[test]
    fn search_folders_are_tried_by_base_name() {
        let path = std::env::current_exe().expect("path");
        let folder = [path.parent().expect("parent").to_owned()];
        let mut modules = Modules::default();
        let gone = format!("/gone/{}", path.file_name().expect("name").to_string_lossy());
        modules.of_mapping(&map(&[]), format!("{gone} (deleted)").as_bytes());
        assert_eq!(modules.locate(&places(&folder), &mut ReaderAccess::default()), []);
        assert_eq!(modules.get(1).expect("module").file.as_deref(), Some(path.as_path()));
    }

    #[test]
    fn code_without_a_symbol_is_named_by_its_module() {
        let module = |path: &str| Module { path: path.into(), ..Module::default() };
        assert_eq!(module("/usr/lib/libz.so.1").code_name(0x12), "[libz.so.1]+0x12");
        assert_eq!(module("[vdso]").code_name(0x12), "[vdso]+0x12");
        assert_eq!(module("/usr/lib/libz.so.1").function_name(0x10), "[libz.so.1]func@0x10");
    }

    #[test]
    fn a_program_is_called_by_the_only_link_that_started_it() {
        let folder = tempfile::tempdir().expect("folder");
        let folder = folder.path().canonicalize().expect("real path");
        let path = |name: &str| folder.join(name).display().to_string();
        for (file, links) in [("check", vec!["server"]), ("box", vec!["ls", "cat"]), ("snake3.11", vec!["snake3"])] {
            std::fs::write(path(file), "x").expect("file");
            for link in links {
                std::os::unix::fs::symlink(file, path(link)).expect("link");
            }
        }
        let mut modules = Modules::default();
        let numbers = ["check", "box", "snake3.11"].map(|name| modules.intern(&path(name), &[], String::new()));
        let started = ["server", "server", "ls", "cat", "snake3", "absent"].map(path);
        modules.name_after_links(started.iter().map(String::as_str));
        let names = numbers.map(|number| modules.get(number).expect("module").function_name(16));
        assert_eq!(names, ["[server]func@0x10", "[box]func@0x10", "[snake3.11]func@0x10"]);
        let both = ["server", "check"].map(path);
        modules.name_after_links(both.iter().map(String::as_str));
        assert_eq!(modules.get(numbers[0]).expect("module").function_name(16), "[check]func@0x10");
    }
}
