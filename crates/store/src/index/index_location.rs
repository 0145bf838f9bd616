//! Where the index of a result may lie, and to which result an index belongs.

use std::path::PathBuf;

use dwell_files::Folder;

use crate::error::{Error, Result};
use crate::folder::ResultFolder;
use crate::table::{self, Table};
use crate::tables::{OffCpu, Samples, TABLES};

pub(super) const NAME: &str = "index.cache";

/// What tells the index of a result from others': checksums and sizes of the result, and the version of Dwell.
pub(crate) fn identity(folder: &ResultFolder) -> Result<[u64; 4]> {
    let manifest = folder.manifest_bytes().map_err(|error| Error::io(&folder.path().join("manifest.json"), error))?;
    let mut sizes = crc32fast::Hasher::new();
    let tables = folder.tables()?;
    let size = |name: &str| tables.size(&table::file_name(name));
    for table in TABLES {
        sizes.update(&size(table.name).to_le_bytes());
    }
    let checksums = u64::from(crc32fast::hash(&manifest)) << 32 | u64::from(sizes.finalize());
    let program = u64::from(crc32fast::hash(env!("CARGO_PKG_VERSION").as_bytes()));
    Ok([checksums, size(OffCpu::DEF.name), size(Samples::DEF.name), program])
}

/// The file of an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexLocation {
    pub(super) folder: Folder,
    pub(super) name: String,
}

impl IndexLocation {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// Where the index of a result may lie: beside it, or where the user's caches are when the result is another's. An index of
/// ours is no stranger's then, root's neither, and no stranger finds one of ours.
pub(crate) fn places(folder: &ResultFolder, identity: [u64; 4]) -> Vec<IndexLocation> {
    let beside = Some(folder.held().clone())
        .filter(Folder::is_this_users)
        .map(|folder| IndexLocation { folder, name: NAME.into() });
    let name = format!("{:016x}-{:x}.index", identity[0], identity[1] ^ identity[2]);
    let cached = caches().map(|folder| IndexLocation { folder, name });
    beside.into_iter().chain(cached).collect()
}

/// The user's folder of Dwell's caches, made where it is not there yet; `None` where it cannot be, or is another's. Root has
/// one of its own where its home, as sudo leaves it, is the user's.
pub fn caches() -> Option<Folder> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let users = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    let roots = rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/cache"));
    users.into_iter().chain(roots).filter(|path| path.is_absolute()).find_map(|path| {
        let _ = Folder::create(&path, 0o700); // it is there, most likely; the next step tells
        let caches = Folder::open(&path).ok().filter(Folder::is_this_users)?;
        let cache = caches.folder("dwell").or_else(|_| caches.make_folder("dwell", 0o700)).ok()?;
        Some(cache).filter(Folder::is_this_users)
    })
}
