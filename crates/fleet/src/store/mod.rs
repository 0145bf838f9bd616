//! The store: a folder or a bucket that tables are written to.

mod bucket;
mod buffer;
mod location;
mod writer;

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bucket::BucketClient;
use dwell_files::Folder;

pub use buffer::BUFFERS;
pub use location::StoreLocation;
pub use writer::{BufferChoice, StoreOutcome, StoreWriter};

use crate::causes::{self, CauseRow};
use crate::table::{self, FleetRow};
use crate::{CAUSES, FOLDER_MODE, child, day_of, path_name};

/// Is made and deleted when a folder is opened.
const PROBE: &str = ".dwell-agent-probe";

/// Where the files of a fleet lie.
pub struct FleetStore {
    place: StorePlace,
}

enum StorePlace {
    /// Held; another one of its path takes its place when it is gone.
    Folder(Mutex<Folder>),
    Bucket(Box<BucketClient>),
}

/// What is at the place of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// It can be written.
    Writable,
    /// Nothing; the folder can be made.
    Missing,
}

/// A table as the store is to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreFile {
    /// Where it lies in the store.
    path: String,
    bytes: Vec<u8>,
}

impl FleetStore {
    /// The store in this folder, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// Where no file can be written in it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = match Folder::create(path, FOLDER_MODE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Folder::open(path),
            made => made,
        };
        let folder = folder?;
        probe(&folder)?;
        Ok(Self { place: StorePlace::Folder(Mutex::new(folder)) })
    }

    /// The store at this place. A folder can be written then; whether a bucket can is not known yet.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], or where the environment does not say how to reach a bucket.
    pub fn at(location: &StoreLocation) -> io::Result<Self> {
        match location {
            StoreLocation::Folder(path) => Self::open(path),
            StoreLocation::Bucket { bucket, prefix } => {
                let client = BucketClient::open(bucket, prefix, |name| std::env::var(name).ok())?;
                Ok(Self { place: StorePlace::Bucket(Box::new(client)) })
            }
        }
    }

    /// Whether tables can be written there; leaves nothing there.
    ///
    /// # Errors
    ///
    /// Where no file can be written, or a folder is missing and cannot be made.
    pub fn try_at(location: &StoreLocation) -> io::Result<StoreState> {
        let StoreLocation::Folder(path) = location else {
            return Self::at(location)?.check().map(|()| StoreState::Writable);
        };
        match Folder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                probe(&Folder::open(parent.unwrap_or(Path::new(".")))?)?;
                Ok(StoreState::Missing)
            }
            folder => probe(&folder?).map(|()| StoreState::Writable),
        }
    }

    /// Whether it can be written.
    fn check(&self) -> io::Result<()> {
        match &self.place {
            StorePlace::Folder(folder) => probe(&folder.lock().unwrap_or_else(PoisonError::into_inner)),
            StorePlace::Bucket(client) => client.probe(),
        }
    }

    /// Writes what `service` did on `host` in the row of time that began at `start_ns`, Unix time; whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the calls that it needs.
    pub fn write(&self, service: &str, host: &str, start_ns: i64, rows: &[FleetRow]) -> io::Result<()> {
        self.put(&StoreFile::of_waits(service, host, start_ns, rows)?)
    }

    /// Writes why `service` waited on `host` in the window that began at `start_ns`, Unix time; whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the calls that it needs.
    pub fn write_causes(&self, service: &str, host: &str, start_ns: i64, rows: &[CauseRow]) -> io::Result<()> {
        self.put(&StoreFile::of_causes(service, host, start_ns, rows)?)
    }

    /// Writes a file; another one of its path is replaced. A folder that is gone is looked for at its path, and not made again: what
    /// lies there while a file system is away is another one.
    fn put(&self, file: &StoreFile) -> io::Result<()> {
        let held = match &self.place {
            StorePlace::Bucket(client) => return client.put(&file.path, &file.bytes),
            StorePlace::Folder(held) => held,
        };
        let folder = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Err(why) = file.replace_in(&folder) else { return Ok(()) };
        let other = Folder::open(folder.path()).map_err(|_| why)?;
        file.replace_in(&other)?;
        *held.lock().unwrap_or_else(PoisonError::into_inner) = other;
        Ok(())
    }
}

impl StoreFile {
    pub(crate) fn of_waits(service: &str, host: &str, start_ns: i64, rows: &[FleetRow]) -> io::Result<Self> {
        let bytes = table::to_parquet(rows).map_err(io::Error::other)?;
        Ok(Self { path: path_of(service, host, start_ns), bytes })
    }

    pub(crate) fn of_causes(service: &str, host: &str, start_ns: i64, rows: &[CauseRow]) -> io::Result<Self> {
        let bytes = causes::to_parquet(rows).map_err(io::Error::other)?;
        Ok(Self { path: format!("{CAUSES}/{}", path_of(service, host, start_ns)), bytes })
    }

    /// Writes it into its folder below this one, which is made where it is missing.
    fn replace_in(&self, store: &Folder) -> io::Result<()> {
        let mut folder = store.clone();
        let mut rest = self.path.as_str();
        while let Some((name, after)) = rest.split_once('/') {
            folder = child(&folder, name)?;
            rest = after;
        }
        folder.replace(rest, &self.bytes)
    }
}

/// Path of a table in the store: its day, its service, its host and begin.
fn path_of(service: &str, host: &str, start_ns: i64) -> String {
    format!("day={}/service={}/{}-{start_ns}.parquet", day_of(start_ns), path_name(service), path_name(host))
}

/// Fails where no file can be written in the folder.
fn probe(folder: &Folder) -> io::Result<()> {
    folder.replace(PROBE, PROBE.as_bytes())?;
    folder.remove(PROBE)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use tempfile::TempDir;

    use super::*;

    fn row(object: &str, wait_ns: i64) -> FleetRow {
        FleetRow {
            host: "h".into(),
            t: 7,
            length_ns: 1_000,
            process: "app".into(),
            version: "1.4".into(),
            kind: "lock".into(),
            object: object.into(),
            object_type: "futex".into(),
            waits: 2,
            wait_ns,
            longest_ns: wait_ns,
            running_ns: 0,
            runnable_ns: -1,
        }
    }

    #[test]
    fn a_row_lies_by_day_and_service() {
        let folder = TempDir::new().unwrap();
        let store = FleetStore::open(&folder.path().join("fleet")).unwrap();
        store.write("a/b", "web 1", 86_400_000_000_000, &[row("futex 0x10", 500), row("", 600)]).unwrap();
        let written = folder.path().join("fleet/day=1970-01-02/service=a_b");
        let names: Vec<_> = fs::read_dir(&written).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["web_1-86400000000000.parquet"]);
        let reader = SerializedFileReader::new(File::open(written.join(&names[0])).unwrap()).unwrap();
        let read: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let of = |object, ns| {
            format!(
                "{{host: \"h\", t: 7, length_ns: 1000, process: \"app\", version: \"1.4\", kind: \"lock\", object: \"{object}\", object_type: \"futex\", \
                 waits: 2, wait_ns: {ns}, longest_ns: {ns}, running_ns: 0, runnable_ns: -1}}"
            )
        };
        assert_eq!(read, [of("futex 0x10", 500), of("", 600)]);
    }

    #[test]
    fn a_store_that_cannot_be_written_is_refused() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(FleetStore::open(&folder.path().join("file")).is_err());
        assert!(FleetStore::open(&folder.path().join("missing/fleet")).is_err());
        assert!(FleetStore::try_at(&StoreLocation::Folder(folder.path().join("file"))).is_err());
        assert!(FleetStore::try_at(&StoreLocation::Folder(folder.path().join("missing/fleet"))).is_err());
    }

    #[test]
    fn a_store_is_tried_without_a_trace() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("fleet");
        assert_eq!(FleetStore::try_at(&StoreLocation::Folder(path.clone())).unwrap(), StoreState::Missing);
        assert!(!path.exists());
        FleetStore::open(&path).unwrap();
        assert_eq!(FleetStore::try_at(&StoreLocation::Folder(path.clone())).unwrap(), StoreState::Writable);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_back_is_written_again_and_never_made_again() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("fleet");
        let store = FleetStore::open(&path).unwrap();
        fs::remove_dir_all(&path).unwrap();
        assert!(store.write("a", "h", 7, &[row("", 1)]).is_err());
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        store.write("a", "h", 7, &[row("", 1)]).unwrap();
        store.write("b", "h", 7, &[row("", 1)]).unwrap();
        assert_eq!(fs::read_dir(path.join("day=1970-01-01")).unwrap().count(), 2);
    }
}
