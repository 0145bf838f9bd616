//! Tests of the whole product: the `dwell` binary against live programs, bad input and its own layering.
//!
//! Every case has a name, `truth::convoy`, and cases run one after the other, since they share the machine's CPUs.
//! `cargo test --workspace --test product -- truth::` runs those whose names contain an argument. A case that needs what
//! this machine lacks (root, BPF, a program) is skipped, says why, and is counted.

mod accept_queues;
mod agent;
mod agent_configuration;
mod agent_store;
mod anatomy;
mod attached_causes;
mod bad_code;
mod bad_input;
mod bad_neighbours;
mod belonging;
mod bench;
mod cases;
mod cgroup;
mod chain;
mod confined;
mod connections;
mod conservation;
mod containers;
mod control;
mod counted_events;
mod cpus;
mod doctor;
mod escapes;
mod event_loops;
mod expectation;
mod export;
mod faults;
mod faults_page;
mod faults_recording;
mod fibers;
mod first_causes;
mod first_causes_of_hangs;
mod first_causes_of_loops;
mod first_causes_of_polls;
mod first_causes_of_programs;
mod fleet;
mod fleet_causes;
mod fleet_compact;
mod fleet_versions;
mod flight;
mod foreign_files;
mod gdb;
mod golang;
mod guest;
mod handles;
mod harmless;
mod harness;
mod hostile_debug_info;
mod hostile_folders;
mod hostile_tables;
mod imports;
mod itt;
mod itt_runtimes;
mod java;
mod javascript;
mod kernels;
mod latency;
mod layers;
mod locks;
mod looking;
mod loopback;
mod mcp;
mod merge;
mod names;
mod packaging;
mod packing;
mod perf_data;
mod probe_members;
mod probe_tracepoints;
mod pt;
mod python;
mod python_library;
mod real_programs;
mod recording;
mod remote;
mod rights;
mod rights_of_others;
mod scripts;
mod send_queues;
mod settings;
mod soak;
mod sockets;
mod sockets_diagnosed;
mod source;
mod sql;
mod stripped;
mod survival;
mod sustained;
mod symbols;
mod system;
mod task_probes;
mod top;
mod top_screen;
mod truth;
mod tutorial;
mod unprivileged;
mod value_probes;
mod verdicts;
mod young_processes;

use std::process::ExitCode;

/// The cases, by what they are about.
const FAMILIES: &[fn() -> Vec<harness::Case>] = &[
    layers::cases,
    names::cases,
    tutorial::cases,
    bad_input::cases,
    packaging::cases,
    packing::cases,
    bad_neighbours::cases,
    hostile_debug_info::cases,
    hostile_folders::cases,
    faults::cases,
    hostile_tables::cases,
    confined::cases,
    escapes::cases,
    looking::cases,
    locks::cases,
    loopback::cases,
    doctor::cases,
    belonging::cases,
    bench::cases,
    flight::cases,
    foreign_files::cases,
    handles::cases,
    harmless::cases,
    pt::cases,
    perf_data::cases,
    bad_code::cases,
    survival::cases,
    faults_recording::cases,
    top::cases,
    top_screen::cases,
    agent::cases,
    agent_configuration::cases,
    agent_store::cases,
    truth::cases,
    unprivileged::cases,
    source::cases,
    real_programs::cases,
    event_loops::cases,
    first_causes::cases,
    accept_queues::cases,
    connections::cases,
    attached_causes::cases,
    send_queues::cases,
    first_causes_of_hangs::cases,
    first_causes_of_loops::cases,
    first_causes_of_polls::cases,
    first_causes_of_programs::cases,
    counted_events::cases,
    python::cases,
    python_library::cases,
    scripts::cases,
    symbols::cases,
    java::cases,
    javascript::cases,
    stripped::cases,
    system::cases,
    sockets::cases,
    sockets_diagnosed::cases,
    remote::cases,
    merge::cases,
    export::cases,
    fibers::cases,
    sql::cases,
    fleet::cases,
    fleet_causes::cases,
    fleet_compact::cases,
    fleet_versions::cases,
    mcp::cases,
    settings::cases,
    task_probes::cases,
    probe_members::cases,
    probe_tracepoints::cases,
    value_probes::cases,
    containers::cases,
    control::cases,
    rights::cases,
    rights_of_others::cases,
    latency::cases,
    cpus::cases,
    verdicts::cases,
    young_processes::cases,
    cases::cases,
    itt::cases,
    itt_runtimes::cases,
    anatomy::cases,
    gdb::cases,
    kernels::cases,
    sustained::cases,
    soak::cases,
];

fn main() -> ExitCode {
    harness::run(FAMILIES.iter().flat_map(|cases| cases()).collect())
}
