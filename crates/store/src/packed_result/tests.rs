use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use dwell_model::ProcessId;
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

use super::*;
use crate::error::{Error, Result};
use crate::folder::ResultFolder;
use crate::manifest::{Manifest, QuotaUse, TRACE_FORMAT};
use crate::tables::{ProcessRow, SourceRow};
use crate::trace::{CodeTables, Trace};

/// A finalized result with a private text in every place that has one.
fn result(folder: &TempDir) -> ResultFolder {
    let result = ResultFolder::create(&folder.path().join("r000th")).unwrap();
    let manifest = Manifest {
        command: vec!["/bin/app".into(), "secret-word".into()],
        options: vec!["secret-word".into()],
        host: "secret-host".into(),
        boot_id: "secret-host".into(),
        ..Manifest::default()
    };
    let mut trace = Trace::new(manifest);
    trace.manifest.taken.quotas.push(QuotaUse { group: "secret-host".into(), ..QuotaUse::default() });
    trace.processes.push(ProcessRow {
        pid: 7,
        parent: ProcessId::NONE,
        name: "app".into(),
        executable: "/bin/app".into(),
        command_line: "/bin/app secret-word".into(),
        start_ns: 1,
        end_ns: 2,
        exit_code: 0,
        cgroup: "/secret-host".into(),
        unit: "secret-host".into(),
        container: "secret-host".into(),
        pod: "secret-host".into(),
    });
    let mut code = CodeTables::default();
    code.sources.push(SourceRow { path: "app.c".into(), text: "secret-line".into(), state: 0, newer: false });
    trace.write(&result, &code).unwrap();
    result.add_to_log("dwell collect -- /bin/app secret-word on secret-host").unwrap();
    fs::write(result.path().join("index.cache"), "an index").unwrap();
    result
}

fn packed(result: &ResultFolder, left_out: &[PrivatePart]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack(result, &left_out.iter().copied().collect::<BTreeSet<_>>(), &mut bytes).unwrap();
    bytes
}

fn unpacked(bytes: &[u8], folder: &TempDir, name: &str) -> Result<ResultFolder> {
    unpack(bytes, bytes.len() as u64, Path::new("it.dwell"), &folder.path().join(name))
}

#[test]
fn a_result_comes_back_to_the_byte_but_for_what_is_not_packed() {
    let folder = TempDir::new().unwrap();
    let result = result(&folder);
    let bytes = packed(&result, &[]);
    assert!(begins_packed_result(bytes.as_slice()));
    assert_eq!(bytes, packed(&result, &[]), "the same result gives the same file");
    let back = unpacked(&bytes, &folder, "back").unwrap();
    for name in ["manifest.json".to_owned(), "log.txt".into()]
        .into_iter()
        .chain(TABLES.iter().map(|table| format!("tables/{}.parquet", table.name)))
    {
        let read = |result: &ResultFolder| fs::read(result.path().join(&name)).unwrap();
        assert!(read(&back) == read(&result), "{name}");
    }
    let mut names: Vec<_> = fs::read_dir(back.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["log.txt", "manifest.json", "tables"]);
    assert_eq!(Trace::read(&back).unwrap().processes.pid, [7]);
    assert!(matches!(unpacked(&bytes, &folder, "back"), Err(Error::Exists { .. })), "nothing is replaced");
}

/// All texts of a result: of its manifest, its log, and the tables that have private ones.
fn texts(result: &ResultFolder) -> String {
    let trace = Trace::read(result).unwrap();
    let code = CodeTables::read(result).unwrap();
    format!("{:?} {:?} {:?} {:?} {code:?}", trace.manifest, trace.processes, trace.notices, result.log())
}

#[test]
fn what_is_left_out_is_nowhere_and_all_else_is_there() {
    let folder = TempDir::new().unwrap();
    let result = result(&folder);
    let parts = [
        (PrivatePart::CommandLines, "secret-word"),
        (PrivatePart::Environment, "secret-host"),
        (PrivatePart::Sources, "secret-line"),
    ];
    for (part, _) in parts {
        let back = unpacked(&packed(&result, &[part]), &folder, part.name()).unwrap();
        let found = texts(&back);
        for (other, text) in parts {
            assert_eq!(found.contains(text), other != part, "{text} without {}", part.name());
        }
        assert!(found.contains(&format!("left out and are empty: {}.", part.name())), "{found}");
        assert!(found.contains("/bin/app"), "names stay");
    }
    let all = parts.map(|(part, _)| part);
    assert!(!texts(&unpacked(&packed(&result, &all), &folder, "all").unwrap()).contains("secret"));
}

/// What is put into an archive: name, kind, the size that the header says, and the content.
struct Planted<'a>(&'a str, EntryType, u64, &'a [u8]);

fn file<'a>(name: &'a str, content: &'a [u8]) -> Planted<'a> {
    Planted(name, EntryType::Regular, content.len() as u64, content)
}

fn archive(entries: &[Planted<'_>]) -> Vec<u8> {
    let mut archive = Builder::new(zstd::stream::write::Encoder::new(MARK.to_vec(), 1).unwrap());
    for Planted(name, kind, size, content) in entries {
        let mut header = Header::new_ustar();
        // As bytes: the library refuses the names that are tried here.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(*size);
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn reason(bytes: &[u8]) -> String {
    let folder = TempDir::new().unwrap();
    let error = unpacked(bytes, &folder, "out").unwrap_err();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{error}: something is left");
    error.to_string()
}

#[test]
fn hostile_archives_are_refused_and_leave_nothing() {
    let manifest = serde_json::to_vec(&Manifest::default()).unwrap();
    let other = serde_json::to_vec(&Manifest { trace_format: TRACE_FORMAT + 1, ..Manifest::default() }).unwrap();
    let begin = || file("manifest.json", &manifest);
    let threads = "tables/threads.parquet";
    let cases: Vec<(&str, Vec<Planted<'_>>)> = vec![
        ("nothing is in it", vec![]),
        ("does not begin with a manifest", vec![file(threads, b"x"), begin()]),
        ("manifest.json: expected value", vec![file("manifest.json", b"x")]),
        ("has trace format", vec![file("manifest.json", &other)]),
        ("two manifests", vec![begin(), begin()]),
        ("twice", vec![begin(), file(threads, b"x"), file(threads, b"y")]),
        ("no result has a file ../manifest.json", vec![begin(), file("../manifest.json", b"x")]),
        ("no result has a file tables/../../x", vec![begin(), file("tables/../../x", b"x")]),
        ("no result has a file /etc/passwd", vec![begin(), file("/etc/passwd", b"x")]),
        ("no result has a file index.cache", vec![begin(), file("index.cache", b"x")]),
        ("no result has a file ./log.txt", vec![begin(), file("./log.txt", b"x")]),
        ("no file", vec![begin(), Planted(threads, EntryType::Symlink, 0, b"")]),
        ("no file", vec![begin(), Planted(threads, EntryType::Link, 0, b"")]),
        ("no file", vec![begin(), Planted("tables", EntryType::Directory, 0, b"")]),
        ("no file", vec![begin(), Planted(threads, EntryType::Fifo, 0, b"")]),
        ("no file", vec![begin(), Planted("././@LongLink", EntryType::GNULongName, 9, b"../../../")]),
        ("no file", vec![begin(), Planted("pax", EntryType::XHeader, 12, b"12 path=../x")]),
        ("no file", vec![begin(), Planted(threads, EntryType::GNUSparse, 0, b"")]),
        ("cut off", vec![begin(), Planted(threads, EntryType::Regular, 1 << 40, b"x")]),
        ("too large", vec![Planted("manifest.json", EntryType::Regular, 1 << 40, b"{}")]),
        ("too large", vec![begin(), Planted("log.txt", EntryType::Regular, 1 << 40, b"x")]),
    ];
    for (expected, entries) in cases {
        let found = reason(&archive(&entries));
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn no_file_unpacks_to_much_more_than_it_is() {
    let manifest = serde_json::to_vec(&Manifest::default()).unwrap();
    let zeros = vec![0; 80 << 20];
    let bomb = archive(&[file("manifest.json", &manifest), file("tables/threads.parquet", &zeros)]);
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    assert!(reason(&bomb).contains("more than a result of its size does"));
    // Behind the archive's end as well.
    let mut behind = zstd::stream::write::Encoder::new(MARK.to_vec(), 1).unwrap();
    let mut begin = Builder::new(Vec::new());
    let mut header = Header::new_ustar();
    header.set_path("manifest.json").unwrap();
    header.set_size(manifest.len() as u64);
    header.set_cksum();
    begin.append(&header, manifest.as_slice()).unwrap();
    behind.write_all(&begin.into_inner().unwrap()).unwrap();
    behind.write_all(&zeros).unwrap();
    assert!(reason(&behind.finish().unwrap()).contains("more than a result of its size does"));
}

#[test]
fn damaged_files_are_refused_wherever_they_end_or_are_wrong() {
    let folder = TempDir::new().unwrap();
    let whole = packed(&result(&folder), &[]);
    for length in (0..whole.len()).step_by(whole.len() / 200) {
        reason(&whole[..length]);
    }
    assert!(reason(&whole[..20]).contains("cannot be unpacked"));
    let mut refused = 0;
    for at in (MARK.len()..whole.len()).step_by(whole.len() / 200) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let out = TempDir::new().unwrap();
        match unpacked(&damaged, &out, "out") {
            Err(_) => refused += 1,
            // What no checksum covers changes nothing.
            Ok(back) => assert!(Trace::read(&back).is_ok()),
        }
    }
    assert!(refused >= 195, "{refused}");
    assert!(reason(b"PK\x03\x04 and so on, for more than a mark's length").contains("no packed result"));
    assert!(reason(b"short").contains("no packed result"));
    let mut newer = whole.clone();
    newer[MARK.len() - 2] = b'2';
    assert!(begins_packed_result(newer.as_slice()));
    assert!(reason(&newer).contains("a Dwell with another format packed it"));
}

#[test]
fn what_is_not_finalized_is_not_packed() {
    let folder = TempDir::new().unwrap();
    let result = result(&folder);
    let manifest = Manifest { state: crate::manifest::State::Collected, ..Manifest::default() };
    result.write_manifest(&manifest).unwrap();
    let packed = pack(&result, &BTreeSet::new(), Vec::new());
    assert!(matches!(packed, Err(PackFailure::Result(Error::NotFinalized { .. }))), "{packed:?}");
    let bytes = archive(&[file("manifest.json", &serde_json::to_vec(&manifest).unwrap())]);
    assert!(reason(&bytes).contains("not finalized"));
}

/// Takes a number of bytes, then is full.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_is_at_fault_is_told_when_the_disk_is_full_or_a_table_is_gone() {
    let folder = TempDir::new().unwrap();
    let result = result(&folder);
    let needed = packed(&result, &[]).len();
    for free_bytes in [0, 10, 100, needed - 1] {
        let failure = pack(&result, &BTreeSet::new(), FullDisk(free_bytes)).unwrap_err();
        let PackFailure::Output(error) = failure else { panic!("{failure}") };
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{free_bytes}");
    }
    fs::remove_file(result.path().join("tables/threads.parquet")).unwrap();
    fs::create_dir(result.path().join("tables/threads.parquet")).unwrap();
    let failure = pack(&result, &BTreeSet::new(), Vec::new()).unwrap_err();
    assert!(failure.to_string().contains("threads.parquet"), "{failure}");
}
