//! Compiles the BPF programs with clang (`CLANG` names another compiler than the newest that is found), and the library that
//! instrumented programs load, which becomes part of the binary.
//!
//! Calls clang and llvm-strip itself: the library libbpf-cargo brings a second libbpf and 40 crates to every build.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_embed::Library;
use dwell_model::{Delay, HoldEnd, HoldKind, SYSCALLS, SocketDirection, StackEnd, SyscallClass, TcpEventKind, losses};

const PROGRAMS: &[&str] = &[
    "namespace",
    "maps",
    "threads",
    "switch",
    "waking",
    "holders",
    "io_quota",
    "sample",
    "snapshot",
    "sums",
    "task_probe",
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
    build_library(&manifest.join("../.."), &out);
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
