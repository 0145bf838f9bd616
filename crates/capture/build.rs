//! Compiles the BPF programs with clang (`CLANG` names another compiler than the newest that is found), and the library that
//! instrumented programs load, which becomes part of the binary.
//!
//! Calls clang and llvm-strip itself: the library libbpf-cargo brings a second libbpf and 40 crates to every build.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_embed::Library;
use dwell_model::{
    Delay, HoldEnd, HoldKind, SYSCALLS, SocketDirection, StackEnd, SyscallClass, TcpEventKind, VainTry, losses,
};

const PROGRAMS: &[&str] = &[
    "namespace",
    "maps",
    "threads",
    "switch",
    "waking",
    "holders",
    "io_quota",
    "connects",
    "sample",
    "snapshot",
    "sums",
    "task_probe",
    "value_probe",
    "tracepoint_probe",
    "stitch",
    "creation",
    "system",
    "sockets",
    "latency",
    "running",
    "requests",
    "call_probe",
    "goroutine",
    "counted_events",
    "open_requests",
];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed={}", manifest.join("src/bpf").display());
    println!("cargo:rerun-if-env-changed=CLANG");
    // Where the build script of libbpf-sys has put libbpf's headers.
    let libbpf = PathBuf::from(env::var_os("DEP_BPF_INCLUDE").unwrap_or_default());
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1).max(1);
    let sources: Vec<PathBuf> = PROGRAMS.iter().map(|name| manifest.join(format!("src/bpf/{name}.bpf.c"))).collect();
    write_header(&out.join("wire.h"), &dwell_wire::c_header());
    write_header(&out.join("model.h"), &model_in_c());
    let folders =
        [(manifest.as_path(), "/dwell/crates/capture"), (libbpf.as_path(), "/libbpf"), (out.as_path(), "/dwell/made")];
    let mut flags: Vec<String> = [&libbpf, &out].iter().map(|folder| format!("-I{}", folder.display())).collect();
    flags.extend(folders.iter().map(|(folder, name)| format!("-ffile-prefix-map={}={name}", folder.display())));
    let clang = dwell_embed::clang();
    let how = how(&clang, &flags);
    let stale: Vec<PathBuf> = sources.into_iter().filter(|source| !is_fresh(source, &out, &how)).collect();
    for at_once in stale.chunks(jobs) {
        compile(at_once, &clang, &flags, &out);
        for source in at_once {
            let note = object_of(source, &out).with_extension("how");
            fs::write(&note, &how).unwrap_or_else(|error| fail(&format!("{}: {error}", note.display())));
        }
    }
    write_core_types(&out);
    build_library(&manifest.join("../.."), &out);
}

/// A table of the kernel's types that each object names, for `kernel/core_types.rs`.
fn write_core_types(out: &Path) {
    let mut rows = String::new();
    for name in PROGRAMS {
        let object = out.join(format!("{name}.bpf.o"));
        let named = fs::read(&object).ok().and_then(|bytes| core_types::named_by(&bytes));
        let named = named.unwrap_or_else(|| fail(&format!("{}: its BTF is not understood", object.display())));
        let _ = writeln!(rows, "    ({name:?}, &{:?}),", Vec::from_iter(named)); // writing to a String cannot fail
    }
    let table = format!("&[\n{rows}]\n");
    fs::write(out.join("core_types.in"), table).unwrap_or_else(|error| fail(&format!("core_types.in: {error}")));
}

/// What the BPF programs know of dwell-model: a counter for each row of its table of losses, in its order, the codes of its
/// enums, and the system calls.
fn model_in_c() -> String {
    macro_rules! codes {
        ($codes:ident) => {
            $codes::ALL.iter().map(|it| (format!("{it:?}"), i16::from(*it as u8)))
        };
    }
    let counters = losses::IN_BPF.iter().map(|loss| loss.id).chain(["loss_count"]);
    let enums = [
        enum_in_c("loss", "", counters.map(str::to_owned).zip(0..)),
        enum_in_c("delay", "DELAY_", codes!(Delay)),
        enum_in_c("socket_direction", "SOCKET_", codes!(SocketDirection)),
        enum_in_c("tcp_hold_kind", "TCP_HOLD_", codes!(HoldKind)),
        enum_in_c("tcp_hold_end", "TCP_HOLD_END_", codes!(HoldEnd)),
        enum_in_c("tcp_event_kind", "TCP_", codes!(TcpEventKind)),
        enum_in_c("vain_try", "VAIN_TRY_", codes!(VainTry)),
        enum_in_c("unwind_end", "UNWIND_", codes!(StackEnd)),
        enum_in_c("syscall_class", "CALL_", codes!(SyscallClass)),
        enum_in_c("syscall", "SYSCALL_", SYSCALLS.iter().map(|call| (call.name.to_owned(), call.number))),
    ];
    format!("/* Made by build.rs of crates/model. */\n{}", enums.concat())
}

fn enum_in_c(name: &str, prefix: &str, members: impl Iterator<Item = (String, i16)>) -> String {
    let members: String = members.map(|(id, code)| format!("\t{prefix}{} = {code},\n", in_c(&id))).collect();
    format!("\nenum {name} {{\n{members}}};\n")
}

/// `KERNEL_WORK` of `KernelWork`, `SWITCHES_LOST` of `switches_lost`.
fn in_c(id: &str) -> String {
    let words = id.char_indices().map(|(at, letter)| match letter {
        _ if at > 0 && letter.is_uppercase() => format!("_{letter}"),
        _ => letter.to_uppercase().to_string(),
    });
    words.collect()
}

/// A header that is written anew makes every program stale.
fn write_header(header: &Path, text: &str) {
    if fs::read_to_string(header).is_ok_and(|last| last == text) {
        return;
    }
    fs::write(header, text).unwrap_or_else(|error| fail(&format!("{}: {error}", header.display())));
}

/// The library that ITT-instrumented programs load.
fn build_library(root: &Path, out: &Path) {
    let library = Library { package: "dwell-itt", features: &["bare"], sources: &["itt", "itt-wire"] };
    let (path, bytes) = dwell_embed::build(root, library, out);
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    println!("cargo:rustc-env=DWELL_ITT_HASH={:016x}", hasher.finish());
    println!("cargo:rustc-env=DWELL_ITT_LIBRARY={}", path.display());
}

/// The object of a source; beside it, clang lists what it was made from (`.d`), and we how (`.how`).
fn object_of(source: &Path, out: &Path) -> PathBuf {
    out.join(source.file_stem().unwrap_or_default()).with_extension("bpf.o")
}

/// How an object is made: the compiler, its version and its flags.
fn how(clang: &str, flags: &[String]) -> String {
    let version =
        Command::new(clang).arg("--version").output().unwrap_or_else(|error| fail(&format!("{clang}: {error}")));
    format!("{clang} {}\n{}", flags.join(" "), String::from_utf8_lossy(&version.stdout))
}

/// Whether nothing that the object was made from has changed since clang read it, and `how` it is made is the same.
fn is_fresh(source: &Path, out: &Path, how: &str) -> bool {
    let object = object_of(source, out);
    let list = object.with_extension("d");
    let changed = |file: &Path| fs::metadata(file).and_then(|about| about.modified()).ok();
    let (Some(read), Ok(list)) = (changed(&list), fs::read_to_string(&list)) else { return false };
    let is_older = |file: &str| changed(Path::new(file)).is_some_and(|time| time < read);
    let files = list.split_once(": ").map(|(_, files)| files.replace("\\\n", " "));
    fs::read_to_string(object.with_extension("how")).is_ok_and(|last| last == how)
        && files.is_some_and(|files| files.split_whitespace().all(is_older))
}

/// Compiles all sources at the same time to objects in `out`. DWARF, from which clang makes the BTF, is stripped: nobody reads
/// it. The BTF names the lines' files, in which the flags put other names for folders of this machine.
fn compile(sources: &[PathBuf], clang: &str, flags: &[String], out: &Path) {
    let started: Vec<_> = sources
        .iter()
        .map(|source| {
            let object = object_of(source, out);
            let _ = fs::remove_file(object.with_extension("how"));
            let mut command = Command::new(clang);
            command.args(["-target", "bpf", "-D__TARGET_ARCH_x86", "-mcpu=v1", "-O2", "-g", "-fno-stack-protector"]);
            command.args(["-Wall", "-Werror", "-MD", "-MF"]).arg(object.with_extension("d"));
            command.arg("-c").arg(source).arg("-o").arg(&object);
            (source, command.args(flags).spawn())
        })
        .collect();
    for (source, child) in started {
        if !child.and_then(|mut child| child.wait()).is_ok_and(|status| status.success()) {
            fail(&format!("{clang} could not compile {}", source.display()));
        }
    }
    let objects: Vec<PathBuf> = sources.iter().map(|source| object_of(source, out)).collect();
    let strip = tool(clang, "llvm-strip");
    if !Command::new(&strip).arg("-g").args(&objects).status().is_ok_and(|status| status.success()) {
        fail(&format!("{strip} could not strip the BPF objects; it comes with LLVM, in a package like llvm-19"));
    }
}

/// A tool of the same LLVM as `clang`.
fn tool(clang: &str, name: &str) -> String {
    let output = Command::new(clang).arg(format!("-print-prog-name={name}")).output();
    output.map_or_else(|_| name.to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn fail(why: &str) -> ! {
    println!("cargo:warning={why}");
    std::process::exit(1);
}

mod core_types {
    //! Which types of the kernel an object file of BPF programs names: the roots of its CO-RE relocations, which stand in `.BTF.ext`
    //! (struct bpf_core_relo in include/uapi/linux/bpf.h, struct btf_ext_header in libbpf's btf.h).

    use std::collections::{BTreeSet, HashMap};

    /// The names, each without what follows `___`, by which libbpf looks for them. `None` for a file that is not understood.
    pub fn named_by(object: &[u8]) -> Option<BTreeSet<String>> {
        let sections = sections(object)?;
        let (Some(btf), Some(ext)) = (sections.get(".BTF"), sections.get(".BTF.ext")) else {
            return Some(BTreeSet::new());
        };
        let names = names_of_types(btf)?;
        let name = |number: u32| Some(names.get(number as usize)?.split("___").next()?.to_owned());
        roots(ext)?.into_iter().map(name).collect()
    }

    /// The sections of an ELF64 file, by their names.
    fn sections(object: &[u8]) -> Option<HashMap<&str, &[u8]>> {
        let headers = usize::try_from(u64_at(object, 40)?).ok()?;
        let (count, of_names) = (u16_at(object, 60)?, u16_at(object, 62)?);
        let header = |number: u16| object.get(headers + 64 * usize::from(number)..);
        let content = |header: &[u8]| {
            let (offset, bytes) = (u64_at(header, 24)? as usize, u64_at(header, 32)? as usize);
            object.get(offset..offset.checked_add(bytes)?)
        };
        let names = content(header(of_names)?)?;
        // The sections of no bytes in the file are left out with those that lie outside it.
        let section = |number: u16| {
            let header = header(number)?;
            Some((text_at(names, u32_at(header, 0)? as usize)?, content(header)?))
        };
        Some((0..count).filter_map(section).collect())
    }

    /// The name of each type of a BTF section, by its number; `void` has none.
    fn names_of_types(btf: &[u8]) -> Option<Vec<&str>> {
        let from_header = |at: usize| Some(u32_at(btf, 4)? as usize + u32_at(btf, at)? as usize);
        let (mut at, strings) = (from_header(8)?, btf.get(from_header(16)?..)?);
        let end = at + u32_at(btf, 12)? as usize;
        let mut names = vec![""];
        while at < end {
            let info = u32_at(btf, at + 4)?;
            names.push(text_at(strings, u32_at(btf, at)? as usize)?);
            at += 12 + bytes_behind(info)?;
        }
        Some(names)
    }

    /// Bytes behind the three words that begin each type (include/uapi/linux/btf.h).
    fn bytes_behind(info: u32) -> Option<usize> {
        let count = (info & 0xffff) as usize;
        match info >> 24 & 0x1f {
            1 | 14 | 17 => Some(4),
            3 => Some(12),
            4 | 5 | 15 | 19 => Some(12 * count),
            6 | 13 => Some(8 * count),
            2 | 7..=12 | 16 | 18 => Some(0),
            _ => None,
        }
    }

    /// The numbers of the types at which relocations begin.
    fn roots(ext: &[u8]) -> Option<BTreeSet<u32>> {
        let mut at = u32_at(ext, 4)? as usize + u32_at(ext, 24)? as usize;
        let end = at + u32_at(ext, 28)? as usize;
        let mut roots = BTreeSet::new();
        let record_bytes = if at < end { u32_at(ext, at)? as usize } else { 0 };
        at += 4;
        while at < end {
            let count = u32_at(ext, at + 4)? as usize;
            at += 8;
            for record in 0..count {
                roots.insert(u32_at(ext, at + record * record_bytes + 4)?);
            }
            at += count * record_bytes;
        }
        Some(roots)
    }

    fn text_at(strings: &[u8], at: usize) -> Option<&str> {
        let text = strings.get(at..)?.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(text).ok()
    }

    fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
    }

    fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    }

    fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    }
}
