//! Tests of the whole product: the `dwell` binary against live programs, bad input and its own layering.
//!
//! Every case has a name, `truth::convoy`, and cases run one after the other, since they share the machine's CPUs.
//! `cargo test -p dwell --test product -- truth::` runs those whose names contain an argument. A case that needs what
//! this machine lacks (root, BPF, a program) is skipped, says why, and is counted.

mod anatomy;
mod bad_code;
mod bad_input;
mod bad_neighbours;
mod bench;
mod cases;
mod cgroup;
mod chain;
mod confined;
mod conservation;
mod containers;
mod cpus;
mod doctor;
mod escapes;
mod event_loops;
mod expectation;
mod faults;
mod faults_page;
mod faults_recording;
mod flight;
mod foreign_files;
mod gdb;
mod guest;
mod harmless;
mod harness;
mod hostile_debug_info;
mod hostile_folders;
mod hostile_tables;
mod imports;
mod itt;
mod itt_runtimes;
mod kernels;
mod latency;
mod layers;
mod locks;
mod looking;
mod merge;
mod packaging;
mod pt;
mod python;
mod real_programs;
mod recording;
mod remote;
mod rights;
mod rights_of_others;
mod settings;
mod soak;
mod sockets;
mod sockets_diagnosed;
mod source;
mod survival;
mod sustained;
mod symbols;
mod system;
mod task_probes;
mod truth;
mod unprivileged;
mod verdicts;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut cases = layers::cases();
    cases.extend(bad_input::cases());
    cases.extend(packaging::cases());
    cases.extend(bad_neighbours::cases());
    cases.extend(hostile_debug_info::cases());
    cases.extend(hostile_folders::cases());
    cases.extend(faults::cases());
    cases.extend(hostile_tables::cases());
    cases.extend(confined::cases());
    cases.extend(escapes::cases());
    cases.extend(looking::cases());
    cases.extend(locks::cases());
    cases.extend(doctor::cases());
    cases.extend(bench::cases());
    cases.extend(flight::cases());
    cases.extend(foreign_files::cases());
    cases.extend(harmless::cases());
    cases.extend(pt::cases());
    cases.extend(bad_code::cases());
    cases.extend(survival::cases());
    cases.extend(faults_recording::cases());
    cases.extend(truth::cases());
    cases.extend(unprivileged::cases());
    cases.extend(source::cases());
    cases.extend(real_programs::cases());
    cases.extend(event_loops::cases());
    cases.extend(python::cases());
    cases.extend(symbols::cases());
    cases.extend(system::cases());
    cases.extend(sockets::cases());
    cases.extend(sockets_diagnosed::cases());
    cases.extend(remote::cases());
    cases.extend(merge::cases());
    cases.extend(settings::cases());
    cases.extend(task_probes::cases());
    cases.extend(containers::cases());
    cases.extend(rights::cases());
    cases.extend(rights_of_others::cases());
    cases.extend(latency::cases());
    cases.extend(cpus::cases());
    cases.extend(verdicts::cases());
    cases.extend(cases::cases());
    cases.extend(itt::cases());
    cases.extend(itt_runtimes::cases());
    cases.extend(anatomy::cases());
    cases.extend(gdb::cases());
    cases.extend(kernels::cases());
    cases.extend(sustained::cases());
    cases.extend(soak::cases());
    harness::run(cases)
}
