//! Finds the file that holds another's debug information: by build id, by the file's own link, in the folders that the
//! user names, and last on debuginfod servers when the user names any.
//!
//! The rules are gdb's ("Debugging Information in Separate Files"). A file found counts only with the same build id, or,
//! without one, the checksum that the link tells.

use std::io::Read;
use std::path::{Path, PathBuf};

use dwell_files::{BoundedFile, open_regular};
use dwell_model::Notice;
use object::{Object, ObjectSection};

use crate::code::access::Access;
use crate::code::debuginfod::Debuginfod;
use crate::code::files::MOST_ELF_BYTES;
use crate::code::modules::{Module, read_build_id, same_build};

/// Where distributions put debug files.
const STANDARD: &[&str] = &["/usr/lib/debug", "/lib/debug"];
/// A file without a build id is read whole to compare it: not without bound.
const MOST_CHECKED_BYTES: u64 = 1 << 30;

/// Finds debug files.
pub struct DebugFiles<'a> {
    folders: Vec<PathBuf>,
    search_dirs: &'a [PathBuf],
    access: Access,
    debuginfod: Option<Debuginfod>,
}

/// What a file says of its debug information.
struct Facts {
    has_debug_info: bool,
    /// Name and checksum.
    link: Option<(String, u32)>,
}

impl<'a> DebugFiles<'a> {
    /// Looks in the standard folders, then in `search_dirs`, for what `access` admits, then asks `debuginfod`.
    pub fn new(search_dirs: &'a [PathBuf], access: Access, debuginfod: Option<Debuginfod>) -> Self {
        let folders = STANDARD.iter().map(PathBuf::from).chain(search_dirs.iter().cloned());
        Self { folders: folders.collect(), search_dirs, access, debuginfod }
    }

    /// The file that holds the debug information of `module`; `None` when that is in the module's own file, or nowhere.
    pub fn find(&mut self, module: &Module) -> Option<PathBuf> {
        let file = module.file.as_deref();
        let facts = file.and_then(facts);
        if facts.as_ref().is_some_and(|facts| facts.has_debug_info) {
            return None;
        }
        let link = facts.and_then(|facts| facts.link);
        let here = self.candidates(module, link.as_ref()).into_iter().filter(|path| Some(path.as_path()) != file);
        let mut here = here.filter(|path| self.access.admits(path));
        let found = here.find(|path| is_debug_file(path, &module.build_id, link.as_ref()));
        found.or_else(|| self.debuginfod.as_mut()?.debug_file(&module.build_id))
    }

    /// What the servers could not give, a sentence each.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.debuginfod.as_mut().map(|debuginfod| std::mem::take(&mut debuginfod.notices)).unwrap_or_default()
    }

    fn candidates(&self, module: &Module, link: Option<&(String, u32)>) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        if let Some((first, rest)) = module.build_id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty()) {
            // The kernel tells 20 bytes and pads shorter ids with zeros.
            let short = rest.trim_end_matches("00");
            for folder in &self.folders {
                paths.push(folder.join(".build-id").join(first).join(format!("{rest}.debug")));
                paths.push(folder.join(".build-id").join(first).join(format!("{short}.debug")));
            }
        }
        let beside = Path::new(&module.path).parent().unwrap_or(Path::new("/"));
        let inside = beside.strip_prefix("/").unwrap_or(beside);
        if let Some((name, _)) = link {
            paths.extend([beside.join(name), beside.join(".debug").join(name)]);
            paths.extend(self.folders.iter().map(|folder| folder.join(inside).join(name)));
            paths.extend(self.search_dirs.iter().map(|folder| folder.join(name)));
        }
        for folder in self.search_dirs {
            paths.extend([folder.join(format!("{}.debug", module.base())), folder.join(module.base())]);
        }
        paths
    }
}

fn facts(path: &Path) -> Option<Facts> {
    let bytes = BoundedFile::open(path, MOST_ELF_BYTES).ok()?;
    let elf = object::File::parse(&bytes).ok()?;
    let link = elf.gnu_debuglink().ok().flatten();
    // A link is a name without a folder.
    let link = link.and_then(|(name, checksum)| Some((std::str::from_utf8(name).ok()?.to_owned(), checksum)));
    Some(Facts { has_debug_info: has_debug_info(&elf), link: link.filter(|(name, _)| !name.contains('/')) })
}

/// The name of the debug file that an ELF file links to.
pub fn link_of(path: &Path) -> Option<String> {
    facts(path)?.link.map(|(name, _)| name)
}

fn has_debug_info<'d>(elf: &impl Object<'d>) -> bool {
    elf.section_by_name(".debug_info").is_some_and(|section| section.size() > 0 && section.file_range().is_some())
}

fn is_debug_file(path: &Path, build_id: &str, link: Option<&(String, u32)>) -> bool {
    let Some(found) = read_build_id(path) else { return false };
    if !found.is_empty() && !build_id.is_empty() {
        return same_build(&found, build_id);
    }
    link.is_some_and(|(_, checksum)| build_id.is_empty() && checksum_of(path) == Some(*checksum))
}

fn checksum_of(path: &Path) -> Option<u32> {
    let mut file = open_regular(path).ok()?.take(MOST_CHECKED_BYTES);
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        }
    }
}
