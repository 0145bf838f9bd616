//! Runs the client, and puts what it wrote into words.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use dwell_itt_wire::{Event, Header, Id, Name, Named, Reader, Round, Sink, State, Value, events, names};
use tempfile::TempDir;

/// Where cargo puts what it builds for this profile.
fn deps() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn library() -> PathBuf {
    deps().join("libdwell_itt.so")
}

pub fn ittapi_client() -> PathBuf {
    deps().with_file_name("examples").join("ittapi_client")
}

/// Programs built for these tests.
struct Built {
    _folder: TempDir,
    client: PathBuf,
    copy: PathBuf,
}

fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let (client, copy) = (folder.path().join("client"), folder.path().join("copy.so"));
        compile("client.c", &[], &client);
        compile("copy.c", &["-shared", "-fPIC", "-DITT_OLD_GLOBAL"], &copy);
        Built { _folder: folder, client, copy }
    })
}

fn compile(source: &str, options: &[&str], output: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = root.join("../../samples");
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O1", "-pthread"]).args(options).arg("-I").arg(&samples);
    command
        .arg("-o")
        .arg(output)
        .arg(root.join("tests/program").join(source))
        .arg(samples.join("itt_stub.c"))
        .arg("-ldl");
    assert!(command.status().unwrap().success(), "{source} does not compile");
}

pub fn client() -> &'static Path {
    &built().client
}

pub fn copy_library() -> &'static Path {
    &built().copy
}

/// A folder in which programs make their files.
pub struct Folder {
    folder: TempDir,
    state: State,
}

impl Folder {
    pub fn new(state: State) -> Self {
        Self { folder: tempfile::tempdir_in("/dev/shm").unwrap(), state }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Sets the variables of a program that is to be recorded.
    pub fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("INTEL_LIBITTNOTIFY64", library()).env("INTEL_JIT_PROFILER64", library());
        command.env("DWELL_ITT", self.state.variable(self.path().to_str().unwrap()))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(client());
        self.prepare(&mut command).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    pub fn run(&self, arguments: &[&str]) {
        let output = self.start(arguments).wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    pub fn files(&self) -> Vec<PathBuf> {
        shared_files(self.path())
    }

    pub fn readers(&self) -> Vec<Reader> {
        self.files().iter().filter_map(|path| open(path)).collect()
    }

    pub fn drain(&self) -> Vec<Process> {
        Self::drain_all(&mut self.readers())
    }

    /// One round over files that nobody writes any more.
    pub fn drain_all(readers: &mut [Reader]) -> Vec<Process> {
        readers.iter_mut().map(|reader| Drained::default().finish(reader)).collect()
    }

    /// Drains as the collector does it, every few milliseconds, until the program ends.
    pub fn drain_while(&self, run: Child) -> Vec<Process> {
        self.drain_with_output(run).0
    }

    pub fn drain_with_output(&self, mut run: Child) -> (Vec<Process>, String) {
        drop(run.stdin.take());
        let mut open_files: BTreeMap<PathBuf, (Reader, Drained)> = BTreeMap::new();
        loop {
            let is_over = run.try_wait().unwrap().is_some();
            for path in self.files() {
                if !open_files.contains_key(&path)
                    && let Some(reader) = open(&path)
                {
                    open_files.insert(path, (reader, Drained::default()));
                }
            }
            for (reader, drained) in open_files.values_mut() {
                reader.drain(drained).unwrap();
            }
            if is_over {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let processes = open_files.into_values().map(|(mut reader, drained)| drained.finish(&mut reader)).collect();
        (processes, String::from_utf8(output.stdout).unwrap())
    }
}

fn shared_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|it| it == "itt")).collect();
    files.sort();
    files
}

fn open(path: &Path) -> Option<Reader> {
    Reader::open(OpenOptions::new().read(true).write(true).open(path).ok()?).ok()
}

/// What the files of a folder hold.
pub fn drain_folder(folder: &Path) -> Vec<Process> {
    let mut readers: Vec<Reader> = shared_files(folder).iter().filter_map(|path| open(path)).collect();
    Folder::drain_all(&mut readers)
}

/// What one file held, in words.
#[derive(Debug)]
pub struct Process {
    pub header: Header,
    pub round: Round,
    /// Events by thread, in their order.
    pub threads: BTreeMap<u32, Vec<String>>,
    /// Events that the threads lost.
    pub lost: u64,
    /// What was named but for domains, strings, counters and events.
    pub named: Vec<String>,
    pub strings: Vec<String>,
    /// Rings that were ever made.
    pub slots: usize,
}

impl Process {
    pub fn only_thread(&self) -> &[String] {
        assert_eq!(self.threads.len(), 1, "{:?}", self.threads.keys());
        self.threads.values().next().unwrap()
    }
}

/// Bytes of a file so far.
#[derive(Default)]
struct Drained {
    names: Vec<u8>,
    threads: BTreeMap<u32, Vec<u8>>,
    lost: u64,
}

impl Sink for Drained {
    fn names(&mut self, bytes: &[u8]) {
        self.names.extend_from_slice(bytes);
    }

    fn events(&mut self, tid: u32, lost: u32, bytes: &[u8]) {
        self.threads.entry(tid).or_default().extend_from_slice(bytes);
        self.lost += u64::from(lost);
    }
}

impl Drained {
    /// Takes the rest of the file and puts it all into words.
    fn finish(mut self, reader: &mut Reader) -> Process {
        let mut round = reader.drain(&mut self).unwrap();
        while round.more {
            round = reader.drain(&mut self).unwrap();
        }
        let known = Known::of(&self.names);
        let in_words = |(tid, bytes): (&u32, &Vec<u8>)| {
            let mut read: Vec<_> = events(bytes).collect();
            assert_eq!(events(bytes).map(|event| event.event.words() * 8).sum::<usize>(), bytes.len());
            // A thread that moved to a larger ring: by time, as documented.
            if read.len() > 100 {
                read.sort_by_key(|stamped| stamped.ticks);
            }
            (*tid, read.iter().map(|stamped| known.event(&stamped.event)).collect())
        };
        let threads = self.threads.iter().map(in_words).collect();
        let named = names(&self.names).filter_map(|named| named_in_words(&named)).collect();
        let mut strings: Vec<String> = known.strings.values().cloned().collect();
        strings.sort();
        Process {
            header: reader.header(),
            round,
            threads,
            lost: self.lost,
            named,
            strings,
            slots: reader.header().slots,
        }
    }
}

/// What ids stand for.
#[derive(Default)]
struct Known {
    domains: HashMap<u16, String>,
    strings: HashMap<u32, String>,
    counters: HashMap<u32, String>,
    events: HashMap<u32, String>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn id(id: Id) -> String {
    if id.is_none() { String::new() } else { format!(" {}.{}", id.d1, id.d2) }
}

fn number(value: Value) -> String {
    match value {
        Value::Unsigned(value) => value.to_string(),
        Value::Signed(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
    }
}

impl Known {
    fn of(bytes: &[u8]) -> Self {
        let mut known = Self::default();
        for named in names(bytes) {
            let is_new = match named.name {
                Name::Domain { id, text: it } => known.domains.insert(id, text(it)).is_none(),
                Name::String { id, text: it } => known.strings.insert(id, text(it)).is_none(),
                Name::Event { id, text: it } => known.events.insert(id, text(it)).is_none(),
                Name::Counter { id, domain, name, .. } => {
                    known.counters.insert(id, format!("{}/{}", text(domain), text(name))).is_none()
                }
                _ => true,
            };
            assert!(is_new, "an id was given twice: {named:?}");
        }
        known
    }

    fn event(&self, event: &Event<'_>) -> String {
        let place = |domain: u16, name: u32| format!("{}/{}", self.domains[&domain], self.strings[&name]);
        let inside = |parent: Id| if parent.is_none() { String::new() } else { format!(" in{}", id(parent)) };
        match *event {
            Event::TaskBegin { domain, name, id: it, parent } => {
                format!("task {}{}{}", place(domain, name), id(it), inside(parent))
            }
            Event::TaskBeginFn { domain, function, .. } => format!("task {}/{function:#x}", self.domains[&domain]),
            Event::TaskEnd { domain } => format!("end {}", self.domains[&domain]),
            Event::OverlappedBegin { domain, name, id: it, .. } => {
                format!("overlapped {}{}", place(domain, name), id(it))
            }
            Event::OverlappedEnd { domain, id: it } => format!("overlapped end {}{}", self.domains[&domain], id(it)),
            Event::RegionBegin { domain, name, id: it, .. } => format!("region {}{}", place(domain, name), id(it)),
            Event::RegionEnd { domain, id: it } => format!("region end {}{}", self.domains[&domain], id(it)),
            Event::FrameBegin { domain, id: it } => format!("frame {}{}", self.domains[&domain], id(it)),
            Event::FrameEnd { domain, id: it } => format!("frame end {}{}", self.domains[&domain], id(it)),
            Event::FrameSubmit { domain, begin, end, .. } => {
                format!("frame {} of {} ticks", self.domains[&domain], end - begin)
            }
            Event::Marker { domain, name, id: it, scope } => {
                format!("marker {}{} scope {scope}", place(domain, name), id(it))
            }
            Event::EventStart { event } => format!("event {}", self.events[&event]),
            Event::EventEnd { event } => format!("event end {}", self.events[&event]),
            Event::CounterSet { counter, value } => format!("set {} {}", self.counters[&counter], number(value)),
            Event::CounterAdd { counter, delta } => format!("add {} {delta}", self.counters[&counter]),
            Event::NamedCounterAdd { domain, name, delta } => format!("add {} {delta}", place(domain, name)),
            Event::Numbers { domain, key, id: it, values, .. } => {
                let values: Vec<String> = values.iter().map(number).collect();
                format!("datum {}{} {}", place(domain, key), id(it), values.join(" "))
            }
            Event::Text { domain, key, id: it, text: data, .. }
            | Event::Formatted { domain, format: key, id: it, text: data } => {
                format!("datum {}{} {}", place(domain, key), id(it), text(data))
            }
            Event::SyncPrepare { .. } => "prepare".into(),
            Event::SyncAcquired { .. } => "acquired".into(),
            Event::SyncReleasing { .. } => "releasing".into(),
            Event::SyncCancel { .. } => "cancel".into(),
            Event::StackEnter { id } => format!("enter {id}"),
            Event::StackLeave { id } => format!("leave {id}"),
        }
    }
}

fn named_in_words(named: &Named<'_>) -> Option<String> {
    Some(match named.name {
        Name::Domain { .. } | Name::String { .. } | Name::Counter { .. } | Name::Event { .. } => return None,
        Name::SyncCreate { attribute, class, name, .. } => {
            format!("create {} ({}, {attribute})", text(name), text(class))
        }
        Name::SyncRename { name, .. } => format!("rename {}", text(name)),
        Name::SyncDestroy { .. } => "destroy".into(),
        Name::ThreadName { text: name } => format!("thread {}", text(name)),
        Name::ThreadIgnore => "ignore thread".into(),
        Name::ModuleLoad { start, end, path } => format!("module {start:#x}..{end:#x} {}", text(path)),
        Name::ModuleUnload { start } => format!("unload {start:#x}"),
        Name::Object { id, module, bytes, name } => {
            format!("object {id} of module {module}, {bytes} bytes: {}", text(name))
        }
        Name::Section { object, address, size, file_offset, name, .. } => {
            format!("section {} of {object} at {address:#x}, {size} bytes from {file_offset}", text(name))
        }
        Name::ObjectBytes { object, offset, bytes } => format!("bytes of {object}: {} at {offset}", bytes.len()),
        Name::ObjectUnload { module } => format!("unload module {module}"),
        Name::Method(it) => {
            let parent = if it.parent == 0 { String::new() } else { format!(" in {}", it.parent) };
            let (class, name, source, module) = (text(it.class), text(it.name), text(it.source), text(it.module));
            format!(
                "method {}{parent} at {:#x}, {} bytes: {class} {name} ({source}, {module})",
                it.id, it.address, it.size
            )
        }
        Name::MethodLines { id, lines, .. } => {
            let lines: Vec<String> = lines.iter().map(|(offset, line)| format!("{offset} is {line}")).collect();
            format!("lines of {id}: {}", lines.join(", "))
        }
        Name::MethodUnload { id } => format!("unload method {id}"),
        Name::Pause { .. } => "pause".into(),
        Name::Resume { .. } => "resume".into(),
        Name::Detach => "detach".into(),
        Name::Client { entries, bound, path } => format!("client {} bound {bound} of {entries}", text(path)),
    })
}
