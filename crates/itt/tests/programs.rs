//! Real programs announce through the library, and what they announced is read from their files as the collector does it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a panic is how a test fails"
)]

mod recording;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use dwell_itt_wire::State;
use dwell_itt_wire::layout::{self, header};

use recording::{Folder, Process, client, copy_library, ittapi_client};

const TASK: [&str; 2] = ["task test.domain/work", "end test.domain"];

/// What a program announces that makes a task of every given name, one after the other.
fn tasks(names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| [format!("task test.domain/{name}"), "end test.domain".into()]).collect()
}

fn only(mut processes: Vec<Process>) -> Process {
    assert_eq!(processes.len(), 1);
    processes.remove(0)
}

#[test]
fn every_call_is_recorded_event_by_event() {
    let folder = Folder::new(State::Recording);
    folder.run(&["all"]);
    let process = only(folder.drain());
    let (id, parent) = ("7.8", "9.0");
    let expected = [
        format!("task test.domain/work {id} in {parent}"),
        TASK[0].into(),
        TASK[1].into(),
        TASK[1].into(),
        "task test.domain/0x1000".into(),
        TASK[1].into(),
        TASK[0].into(),
        TASK[1].into(),
        format!("overlapped test.domain/work {id}"),
        format!("overlapped end test.domain {id}"),
        format!("region test.domain/work {id}"),
        format!("region end test.domain {id}"),
        format!("frame test.domain {id}"),
        format!("frame end test.domain {id}"),
        "frame test.domain of 100 ticks".into(),
        format!("marker test.domain/work {id} scope 2"),
        "event an event".into(),
        "event end an event".into(),
        "set numbers/u64 18446744073709551615".into(),
        "set numbers/s64 -5".into(),
        "set numbers/u32 4294967295".into(),
        "set numbers/s32 -6".into(),
        "set numbers/u16 65535".into(),
        "set numbers/s16 -7".into(),
        "set numbers/float 0.5".into(),
        "set numbers/double 0.25".into(),
        "add test.domain/counted 1".into(),
        "add test.domain/counted -1".into(),
        "add test.domain/counted 10".into(),
        "add test.domain/counted -3".into(),
        "add test.domain/work 4".into(),
        format!("datum test.domain/key {id} 1 -2 3"),
        "datum test.domain/key 1.5".into(),
        format!("datum test.domain/key {id} a text"),
        format!("datum test.domain/key {id} a text"),
        "datum test.domain/%d %s %.2f %d %d %d %ld %.1f 1 two 3.00 4 5 6 7 8.5".into(),
        format!("datum test.domain/%d %s %.2f %d %d %d %ld %.1f {id} 1 two 3.00 4 5 6 7 8.5"),
        "prepare".into(),
        "acquired".into(),
        "releasing".into(),
        "prepare".into(),
        "cancel".into(),
        "enter 1".into(),
        "leave 1".into(),
    ];
    assert_eq!(process.only_thread(), expected);
    assert_eq!((process.lost, process.round.names_lost, process.round.damaged_bytes), (0, 0, 0));
}

#[test]
fn everything_named_is_recorded() {
    let folder = Folder::new(State::Recording);
    folder.run(&["all"]);
    let process = only(folder.drain());
    let expected = [
        "create first_lock (Mutex, 2)",
        "rename second_lock",
        "destroy",
        "thread main thread",
        "ignore thread",
        "module 0x2000..0x3000 /lib/loaded.so",
        "object 1 of module 77, 70000 bytes: jitted",
        "section .text of 1 at 0x4000, 64 bytes from 128",
        "bytes of 1: 30000 at 0",
        "bytes of 1: 30000 at 30000",
        "bytes of 1: 10000 at 60000",
        "unload module 77",
    ];
    let named: Vec<&str> = process.named.iter().map(String::as_str).filter(|it| !it.starts_with("client")).collect();
    assert_eq!(named, expected);
    assert_eq!(process.named.len(), expected.len() + 1);
    // All but relation_add were bound.
    let client = process.named.iter().find(|it| it.starts_with("client")).unwrap();
    assert!(client.contains("bound 51 of 52"), "{client}");
}

#[test]
fn run_time_code_is_recorded() {
    let folder = Folder::new(State::Off);
    folder.run(&["jit"]);
    let process = only(folder.drain());
    let expected = [
        "method 5 at 0x5000, 100 bytes: Class a_method (a.js, engine)",
        "lines of 5: 0 is 10, 50 is 11",
        "method 6 in 5 at 0x5010, 10 bytes:  inlined (, )",
        "unload method 5",
    ];
    assert_eq!(process.named[process.named.len() - 4..], expected);
}

#[test]
fn threads_that_ended_leave_their_rings_to_others() {
    let folder = Folder::new(State::Recording);
    let run = folder.start(&["threads", "300"]);
    let process = only(folder.drain_while(run));
    assert_eq!(process.threads.values().map(Vec::len).sum::<usize>(), 30_000);
    assert_eq!((process.threads.len(), process.lost), (300, 0));
    // By thread id, which begins anew somewhere among them when ids have run out.
    let mut left: BTreeSet<String> = (0..300).map(|index| format!("set test.domain/counted {index}")).collect();
    for events in process.threads.values() {
        assert_eq!(events[..], vec![events[0].clone(); 100]);
        assert!(left.remove(&events[0]), "{} twice", events[0]);
    }
    assert!(process.slots < 300, "{} rings for 300 threads, one after the other", process.slots);
}

#[test]
fn a_forked_child_has_its_own_file_with_its_parents_names() {
    let folder = Folder::new(State::Recording);
    folder.run(&["fork"]);
    let mut processes = folder.drain();
    processes.sort_by_key(|process| process.only_thread().len());
    let [grandchild, first, second] = &processes[..] else { panic!("{} files", processes.len()) };
    assert_eq!(grandchild.only_thread(), tasks(&["only in the grandchild"]));
    let (parent, child) = if first.header.pid == grandchild.header.parent { (second, first) } else { (first, second) };
    assert_eq!(parent.only_thread(), tasks(&["work", "only in the parent"]));
    assert_eq!(child.only_thread(), tasks(&["work", "only in the child"]));
    assert_eq!((child.header.parent, grandchild.header.parent), (parent.header.pid, child.header.pid));
}

#[test]
fn a_fork_amid_other_threads_calls_neither_hangs_nor_mixes() {
    let folder = Folder::new(State::Recording);
    let run = folder.start(&["busy-forks"]);
    let processes = folder.drain_while(run);
    assert_eq!(processes.len(), 51);
    for child in processes.iter().filter(|process| process.threads.values().map(Vec::len).sum::<usize>() == 2) {
        assert_eq!(child.only_thread(), TASK);
    }
    let parent = processes.iter().max_by_key(|process| process.threads.values().map(Vec::len).sum::<usize>()).unwrap();
    let expected: Vec<String> = (0..20_000).map(|number| format!("string {number}")).collect();
    assert_eq!(parent.only_thread(), tasks(&expected.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(parent.lost, 0);
}

#[test]
fn exec_keeps_the_pid_and_both_files() {
    let folder = Folder::new(State::Recording);
    folder.run(&["exec"]);
    let processes = folder.drain();
    assert_eq!(processes.iter().map(Process::only_thread).collect::<Vec<_>>(), [TASK, TASK]);
    assert_eq!(processes[0].header.pid, processes[1].header.pid);
}

#[test]
fn what_was_announced_survives_a_kill() {
    let folder = Folder::new(State::Recording);
    assert!(!folder.start(&["kill"]).wait_with_output().unwrap().status.success());
    assert_eq!(only(folder.drain()).only_thread(), TASK);
}

#[test]
fn late_threads_and_exit_handlers_are_recorded() {
    let folder = Folder::new(State::Recording);
    folder.run(&["late"]);
    let process = only(folder.drain());
    let mut threads: Vec<_> = process.threads.values().cloned().collect();
    threads.sort_by_key(Vec::len);
    assert_eq!(threads, [tasks(&["in an exit handler"]), tasks(&["work", "in a thread's destructor"])]);
}

#[test]
fn a_pause_stops_events_but_no_names() {
    let folder = Folder::new(State::Recording);
    folder.run(&["pause"]);
    let process = only(folder.drain());
    assert_eq!(process.only_thread(), tasks(&["work", "work", "work"]));
    let control: Vec<&str> = process.named.iter().map(String::as_str).filter(|it| !it.starts_with("client")).collect();
    assert_eq!(control, ["pause", "resume", "detach"]);
    assert!(process.strings.contains(&"while paused".to_owned()) && process.round.program_paused);
}

#[test]
fn several_static_parts_are_one_by_name() {
    let folder = Folder::new(State::Recording);
    folder.run(&["copies", copy_library().to_str().unwrap()]);
    let process = only(folder.drain());
    assert_eq!(process.only_thread(), tasks(&["work", "work", "work"]));
    assert_eq!(process.strings.iter().filter(|it| *it == "work").count(), 1);
    assert_eq!(process.named.iter().filter(|it| it.starts_with("client")).count(), 2);
}

#[test]
fn calls_from_signal_handlers_are_recorded_or_counted() {
    let folder = Folder::new(State::Recording);
    let run = folder.start(&["signals"]);
    let (processes, output) = folder.drain_with_output(run);
    let process = only(processes);
    let announced: u64 = output.trim().parse().unwrap();
    let recorded: usize = process.threads.values().map(Vec::len).sum();
    // Before the thread has a ring, what is lost is the process's.
    assert_eq!(recorded as u64 + process.lost + process.round.ringless_lost, announced);
    assert!(process.threads.values().flatten().all(|event| TASK.contains(&event.as_str())));
}

#[test]
fn a_flood_is_drained_or_counted() {
    let folder = Folder::new(State::Recording);
    let run = folder.start(&["flood", "1000000"]);
    let process = only(folder.drain_while(run));
    let recorded: usize = process.threads.values().map(Vec::len).sum();
    assert_eq!((process.round.damaged_bytes, process.round.ringless_lost), (0, 0));
    assert_eq!(recorded as u64 + process.lost, 2_000_000);
    if process.lost == 0 {
        assert!(process.threads.values().all(|events| events.chunks(2).all(|pair| pair == TASK)));
    }
}

#[test]
fn nobody_listens_until_the_collector_comes() {
    let folder = Folder::new(State::Off);
    let mut run = folder.start(&["wait"]);
    let mut input = run.stdin.take().unwrap();
    let mut output = BufReader::new(run.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    let mut step = || {
        input.write_all(b".").unwrap();
        thread::sleep(Duration::from_millis(100));
    };
    step();
    let mut readers = folder.readers();
    readers[0].set_state(State::Recording).unwrap();
    step();
    readers[0].set_state(State::Paused).unwrap();
    step();
    drop(input);
    run.wait().unwrap();
    let process = only(Folder::drain_all(&mut readers));
    assert_eq!(process.only_thread(), TASK);
    assert!(process.strings.contains(&"work".to_owned()));
}

/// The client runs on unharmed, and nothing of it is recorded.
fn runs_unrecorded(folder: &Folder, variable: &str) {
    for way in ["all", "fork", "jit"] {
        let mut command = folder.command(&[way]);
        let output = command.env("DWELL_ITT", variable).output().unwrap();
        assert!(output.status.success(), "{way} with {variable}: {output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    assert!(folder.drain().is_empty());
}

#[test]
fn what_cannot_be_recorded_runs_unharmed() {
    let folder = Folder::new(State::Recording);
    let long = "x".repeat(600);
    let missing = folder.path().join("missing");
    let cases = ["", "recording", "recording:", "nonsense:/tmp", &format!("recording:{}", missing.display())];
    cases.iter().for_each(|variable| runs_unrecorded(&folder, variable));
    runs_unrecorded(&folder, &format!("recording:{long}"));
    let mut command = folder.command(&["all"]);
    assert!(command.env_remove("DWELL_ITT").status().unwrap().success());
}

#[test]
fn a_limit_of_file_sizes_ends_no_program() {
    let folder = Folder::new(State::Recording);
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg("ulimit -f 1000; exec \"$0\" all").arg(client());
    assert!(folder.prepare(&mut shell).status().unwrap().success());
    assert!(folder.drain().is_empty());
}

#[test]
fn a_full_file_system_ends_no_program() {
    let folder = Folder::new(State::Recording);
    // In a mount namespace of its own, on a file system of 1 MiB: names still fit, most events do not.
    let script = "mount -t tmpfs -o size=1m none \"$1\" && \"$0\" flood 1000000 && \"$0\" all && cp --sparse=always \"$1\"/*.itt \"$2\"";
    let small = folder.path().join("small");
    let kept = folder.path().join("kept");
    fs::create_dir(&small).unwrap();
    fs::create_dir(&kept).unwrap();
    let mut shell = std::process::Command::new("unshare");
    shell.args(["--map-root-user", "--mount", "sh", "-ec", script]).arg(client()).arg(&small).arg(&kept);
    folder.prepare(&mut shell).env("DWELL_ITT", State::Recording.variable(small.to_str().unwrap()));
    let output = shell.output().unwrap();
    if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("not permitted") {
        eprintln!("skipped: no namespaces here");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    let processes = recording::drain_folder(&kept);
    assert!(!processes.is_empty());
    let lost: u64 = processes.iter().map(|process| process.lost + process.round.ringless_lost).sum();
    let recorded: usize = processes.iter().flat_map(|process| process.threads.values()).map(Vec::len).sum();
    assert!(lost > 0 && lost + recorded as u64 >= 2_000_000, "{lost} lost, {recorded} recorded");
}

#[test]
fn a_setuid_program_is_not_recorded() {
    let folder = Folder::new(State::Recording);
    let setuid = folder.path().join("setuid");
    fs::copy(client(), &setuid).unwrap();
    // Changed ids are what makes the loader call a program secure: a set-group-id of a group that is not the caller's.
    if !std::process::Command::new("chgrp").arg("mail").arg(&setuid).status().unwrap().success() {
        eprintln!("skipped: needs root to give a file to another group");
        return;
    }
    fs::set_permissions(&setuid, fs::Permissions::from_mode(0o2755)).unwrap();
    let mut command = std::process::Command::new(&setuid);
    let status = folder.prepare(&mut command).arg("all").stdin(Stdio::null()).status().unwrap();
    assert!(status.success());
    assert!(folder.drain().is_empty());
}

#[test]
fn a_file_that_the_program_damages_harms_nobody() {
    let folder = Folder::new(State::Recording);
    folder.run(&["all"]);
    for path in folder.files() {
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0xff; 4096], layout::RINGS_AT).unwrap();
        file.write_all_at(&u64::MAX.to_le_bytes(), 8 * header::NAMES_HEAD as u64).unwrap();
    }
    let process = only(folder.drain());
    assert!(process.threads.values().all(Vec::is_empty) && process.round.damaged_bytes > 0);
}

#[test]
fn a_static_part_of_other_peoples_is_recorded() {
    let folder = Folder::new(State::Recording);
    let mut command = std::process::Command::new(ittapi_client());
    assert!(folder.prepare(&mut command).status().unwrap().success());
    let process = only(folder.drain());
    let expected = [
        "task real.domain/outer",
        "task second.domain/inner",
        "end second.domain",
        "event an event",
        "event end an event",
        "end real.domain",
        "task late.domain/late",
        "end late.domain",
        "task real.domain/again",
        "end real.domain",
    ];
    assert_eq!(process.only_thread(), expected);
    let client = process.named.first().unwrap();
    assert!(client.starts_with("client") && client.contains("ittapi_client"), "{client}");
    let rest = ["pause", "resume", "method 1 at 0x5000, 64 bytes: <unknown class file name> a_method (a.js, )"];
    assert_eq!(process.named[1..], rest);
}

#[test]
fn files_are_the_users_own() {
    let folder = Folder::new(State::Recording);
    folder.run(&["one"]);
    let modes: Vec<u32> = folder.files().iter().map(|it| mode(it)).collect();
    assert_eq!(modes, [0o600]);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
