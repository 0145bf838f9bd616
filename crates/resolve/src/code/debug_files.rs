//! Finds the file that holds another's debug information: by build id, by the file's own link, in the folders that the
//! user names, and last on debuginfod servers when the user names any.
//!
//! The rules are gdb's ("Debugging Information in Separate Files"). A file found counts only with the same build id, or,
//! without one, the checksum that the link tells.

use std::path::{Path, PathBuf};

use dwell_files::{BoundedFile, DEBUG_FOLDERS, checksum_of, debug_file_candidates, debug_link, has_debug_info};
use dwell_model::Notice;

use crate::code::access::ReaderAccess;
use crate::code::debuginfod::Debuginfod;
use crate::code::files::MOST_ELF_BYTES;
use crate::code::modules::{Module, read_build_id, same_build};

/// Finds debug files.
pub struct DebugFiles<'a> {
    folders: Vec<PathBuf>,
    search_dirs: &'a [PathBuf],
    access: ReaderAccess,
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
    pub fn new(search_dirs: &'a [PathBuf], access: ReaderAccess, debuginfod: Option<Debuginfod>) -> Self {
        let folders = DEBUG_FOLDERS.iter().map(PathBuf::from).chain(search_dirs.iter().cloned());
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
        let link = link.map(|(name, _)| name.as_str());
        let mut paths = debug_file_candidates(&self.folders, Path::new(&module.path), &module.build_id, link);
        paths.extend(link.into_iter().flat_map(|name| self.search_dirs.iter().map(move |folder| folder.join(name))));
        for folder in self.search_dirs {
            paths.extend([folder.join(format!("{}.debug", module.base())), folder.join(module.base())]);
        }
        paths
    }
}

fn facts(path: &Path) -> Option<Facts> {
    let bytes = BoundedFile::open(path, MOST_ELF_BYTES).ok()?;
    let elf = object::File::parse(&bytes).ok()?;
    Some(Facts { has_debug_info: has_debug_info(&elf), link: debug_link(&elf) })
}

/// The name of the debug file that an ELF file links to.
pub fn link_of(path: &Path) -> Option<String> {
    facts(path)?.link.map(|(name, _)| name)
}

fn is_debug_file(path: &Path, build_id: &str, link: Option<&(String, u32)>) -> bool {
    let Some(found) = read_build_id(path) else { return false };
    if !found.is_empty() && !build_id.is_empty() {
        return same_build(&found, build_id);
    }
    link.is_some_and(|(_, checksum)| build_id.is_empty() && checksum_of(path) == Some(*checksum))
}
