//! What is done before a program is launched, or attached to, so that it can be heard.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dwell_itt_wire::State;
use dwell_itt_wire::layout::{JIT_VARIABLE, LIBRARY_VARIABLE};
use dwell_model::{Notice, notice};
use dwell_unwind::dynamic_linker;

use super::files::Itt;
use super::folder::Folder;
use super::library::{Library, is_ours, variables};
use crate::options::{Launch, Options, Target};

/// A collection's side of ITT before it begins.
#[derive(Default)]
pub struct Preparation {
    folders: Vec<Folder>,
    /// What the launched program has to find in its environment.
    pub variables: Vec<(&'static str, OsString)>,
    /// What is missing, for the reader of the result.
    notice: Option<Notice>,
}

impl Preparation {
    /// Puts the library in its place and makes the folder, or looks where running programs have theirs. Whatever is missing is
    /// a notice: the program is recorded all the same.
    pub fn of(options: &Options, fallback: &Path) -> Self {
        match &options.target {
            _ if !options.itt => Self::default(),
            Target::Attach(pids) => Self { folders: Folder::of_running(pids), ..Self::default() },
            Target::Launch(program) => Self::launch(program, fallback)
                .unwrap_or_else(|why| Self { notice: Some(notice!(ITT_NOT_RECORDED, why = why)), ..Self::default() }),
        }
    }

    fn launch(program: &Launch, fallback: &Path) -> Result<Self, String> {
        if program.path().is_ok_and(|path| is_of_musl(&path)) {
            return Err("the program's C library is musl, and Dwell's library is made for glibc".into());
        }
        if let Some((name, value)) = foreign_collector() {
            return Err(format!("{name} is set to {} already", value.display()));
        }
        let library = Library::install().map_err(|error| format!("its library cannot be stored ({error})"))?;
        let folder = Folder::make(fallback).map_err(|error| format!("it has no folder ({error})"))?;
        let variables = variables(&library.path, &folder.path, State::Recording);
        Ok(Self { folders: vec![folder], variables, notice: None })
    }

    /// Begins to listen. `uid` is the launched program's user.
    pub fn begin(self, uid: Option<u32>, notices: &mut Vec<Notice>) -> Itt {
        notices.extend(self.notice);
        let mut itt = Itt::new(self.folders);
        uid.into_iter().for_each(|uid| itt.expect_owner(uid));
        itt
    }
}

/// Whether the program at `path` is one of musl, which cannot load a library that is made for glibc.
fn is_of_musl(path: &Path) -> bool {
    let linker = dynamic_linker(path);
    let name = linker.as_deref().and_then(Path::file_name);
    name.is_some_and(|name| name.as_bytes().starts_with(b"ld-musl"))
}

/// The environment in which a program can be heard when Dwell attaches to it later: names and values. Puts the library in its
/// place, makes the user's folder, and removes from it what processes left that are gone.
///
/// # Errors
///
/// Those of writing there.
pub fn environment() -> std::io::Result<Vec<(&'static str, OsString)>> {
    let library = Library::install()?;
    let folder = Folder::of_user()?;
    folder.remove_stale();
    Ok(variables(&library.path, &folder.path, State::Off))
}

/// The collector that the user has chosen for the program; ours, of `dwell env`, does not count.
fn foreign_collector() -> Option<(&'static str, OsString)> {
    let chosen = [LIBRARY_VARIABLE, JIT_VARIABLE].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut foreign = chosen.filter(|(_, value)| !value.is_empty() && !is_ours(Path::new(value)));
    foreign.next()
}
