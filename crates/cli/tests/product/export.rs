//! `dwell export`: what other tools read adds up to what the reports say.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::golang::needs_go;
use crate::harness::{Case, Skip};
use crate::recording::{Recording, Running, needs_program, number, run_dwell, sample, text};

/// Reads a trace with Perfetto's own message classes: running time of each thread by the switches of each CPU, the first of which its
/// trace processor drops, and time and wakers of the slices.
const PERFETTO_READER: &str = "
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
running, on_cpu, names, tracks, open_slices = {}, {}, {}, {}, {}
sums = {'wait_ns': {}, 'waits': 0, 'samples': 0, 'wakings': 0, 'wrong_wakers': 0, 'starts': 0, 'ends': 0, 'blocked': []}
symbols = {}
for packet in trace.packet:
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    for symbol in packet.interned_data.kernel_symbols:
        symbols[symbol.iid] = symbol.str.decode()
    if packet.HasField('track_descriptor'):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if packet.HasField('perf_sample'):
        sums['samples'] += 1
    cpu = packet.ftrace_events.cpu
    last = 0
    for event in packet.ftrace_events.event:
        assert event.timestamp >= last, 'events of a CPU are out of order'
        last = event.timestamp
        if event.HasField('sched_switch'):
            switch = event.sched_switch
            if cpu in on_cpu:
                pid, since = on_cpu[cpu]
                assert pid == switch.prev_pid, f'{switch.prev_pid} leaves CPU {cpu}, where {pid} runs'
                running[pid] = running.get(pid, 0) + event.timestamp - since
            on_cpu[cpu] = (switch.next_pid, event.timestamp)
        if event.HasField('sched_waking'):
            sums['wakings'] += 1
            if event.pid and on_cpu[cpu][0] != event.pid:
                sums['wrong_wakers'] += 1
        if event.HasField('sched_blocked_reason'):
            sums['blocked'].append(symbols[event.sched_blocked_reason.caller])
    if packet.HasField('track_event'):
        event = packet.track_event
        sums['starts'] += len(event.flow_ids)
        sums['ends'] += len(event.terminating_flow_ids)
        if event.type == event.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid] = (names[event.name_iid], packet.timestamp)
        if event.type == event.TYPE_SLICE_END:
            name, since = open_slices.pop(event.track_uuid)
            sums['wait_ns'][name] = sums['wait_ns'].get(name, 0) + packet.timestamp - since
            sums['waits'] += 1
running.pop(0, None)
sums['running'] = running
sums['open'] = len(open_slices)
json.dump(sums, sys.stdout)
";

/// Reads profiles with OpenTelemetry's own message classes, as a collector does: sums of each type, wait time by object, and whether
/// the tables are as the format demands.
const OTLP_READER: &str = "
import json, sys
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
request = ExportProfilesServiceRequest()
request.ParseFromString(open(sys.argv[1], 'rb').read())
tables = request.dictionary
texts = tables.string_table
for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.attribute_table, tables.stack_table):
    assert table[0] == type(table[0])(), 'row 0 is not zero'
assert texts[0] == '' and not any(tables.link_table[0].trace_id), 'row 0 is not zero'
def attributes(rows):
    told = {texts[tables.attribute_table[row].key_strindex]: tables.attribute_table[row].value for row in rows}
    assert len(told) == len(rows), 'two attributes have one key'
    return told
sums = {'units': {}, 'sums': {}, 'object_wait_ns': {}, 'types': [], 'threads': [], 'lines': [], 'build_ids': 0}
[profiles] = [scope.profiles for resource in request.resource_profiles for scope in resource.scope_profiles]
for profile in profiles:
    kind = texts[profile.sample_type.type_strindex]
    sums['units'][kind] = texts[profile.sample_type.unit_strindex]
    sums['sums'][kind] = sum(value for sample in profile.samples for value in sample.values)
    identities = {(sample.stack_index, frozenset(sample.attribute_indices)) for sample in profile.samples}
    assert len(identities) == len(profile.samples), 'two samples are the same'
    for sample in profile.samples:
        told = attributes(sample.attribute_indices)
        assert sample.stack_index > 0 and tables.stack_table[sample.stack_index].location_indices
        sums['threads'].append(told['thread.name'].string_value)
        if kind == 'wait' and 'dwell.object.name' in told:
            name = told['dwell.object.name'].string_value
            sums['object_wait_ns'][name] = sums['object_wait_ns'].get(name, 0) + sum(sample.values)
            sums['types'].append(told['dwell.object.type'].string_value)
for location in tables.location_table[1:]:
    mapping = tables.mapping_table[location.mapping_index]
    inside = mapping.memory_start <= location.address <= mapping.memory_limit
    assert inside or location.mapping_index == 0, 'an address is outside its mapping'
    for line in location.lines:
        function = tables.function_table[line.function_index]
        sums['lines'].append(f'{texts[function.name_strindex]} {texts[function.filename_strindex]}:{line.line}')
for mapping in tables.mapping_table[1:]:
    sums['build_ids'] += 'process.executable.build_id.gnu' in attributes(mapping.attribute_indices)
[resource] = request.resource_profiles
sums['service'] = {pair.key: pair.value.string_value for pair in resource.resource.attributes}['service.name']
json.dump(sums, sys.stdout)
";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("export::folded_stacks_add_up", folded_stacks_add_up),
        Case::new("export::speedscope_adds_up", speedscope_adds_up),
        Case::new("export::pprof_adds_up", pprof_adds_up),
        Case::new("export::otlp_adds_up", otlp_adds_up),
        Case::new("export::firefox_adds_up", firefox_adds_up),
        Case::new("export::perfetto_adds_up", perfetto_adds_up),
        Case::new("export::words_that_make_no_sense", words_that_make_no_sense),
    ]
}

fn convoy() -> Result<Recording> {
    Recording::of(&[], &[&sample("convoy")?])
}

/// What `dwell export` writes of the recording to standard output.
fn export(recording: &Recording, arguments: &[&str]) -> Result<String> {
    let path = recording.path().display().to_string();
    let output = run_dwell(&[&["export", arguments[0], &path], &arguments[1..]].concat())?;
    ensure!(output.status.success(), "dwell export {}: {}", arguments.join(" "), output.stderr);
    Ok(output.stdout)
}

/// A number of the summary of what `filters` let through.
fn summed(recording: &Recording, metric: &str, filters: &[&str]) -> Result<u64> {
    let rows = recording.rows(&[&["waits"], filters].concat())?;
    let sum: f64 = rows.iter().map(|row| number(row, metric)).sum::<Result<f64>>()?;
    Ok(sum as u64)
}

/// Stacks and their weights.
fn folded(text: &str) -> Result<BTreeMap<&str, u64>> {
    let line = |line| {
        let (stack, ns) = str::rsplit_once(line, ' ').with_context(|| format!("no weight: {line}"))?;
        Ok((stack, ns.parse()?))
    };
    text.lines().map(line).collect()
}

fn folded_stacks_add_up() -> Result<()> {
    let recording = convoy()?;
    let cpu = export(&recording, &["folded"])?;
    let summary = recording.report(&["summary"])?;
    let sum: u64 = folded(&cpu)?.values().sum();
    ensure!(sum as f64 == number(&summary, "cpu_ns")?, "{sum} of {}", summary["cpu_ns"]);
    let wait = export(&recording, &["folded", "--weight", "wait", "--include-idle"])?;
    let sum: u64 = folded(&wait)?.values().sum();
    ensure!(sum as f64 == number(&summary, "wait_ns")?, "{sum} of {}", summary["wait_ns"]);
    let filter = ["--filter", "object=queue_lock", "--time-range", "20ms-150ms"];
    let wait = export(&recording, &[&["folded", "--weight", "wait"], &filter[..]].concat())?;
    let (sum, reported) = (folded(&wait)?.values().sum::<u64>(), summed(&recording, "wait_ns", &filter)?);
    ensure!(sum == reported && sum > 0, "{sum} of {reported}");
    let is_place = |stack: &str| stack.starts_with("worker-") && stack.contains(";push_item;");
    ensure!(folded(&wait)?.keys().all(|stack| is_place(stack)), "{wait}");
    Ok(())
}

fn speedscope_adds_up() -> Result<()> {
    let recording = convoy()?;
    let folder = TempDir::new()?;
    let file = folder.path().join("convoy.speedscope.json").display().to_string();
    export(&recording, &["speedscope", "--include-idle", "--output", &file])?;
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let summary = recording.report(&["summary"])?;
    let frames = document["shared"]["frames"].as_array().context("no frames")?.len() as u64;
    for (profile, metric) in [(0, "cpu_ns"), (1, "wait_ns")] {
        let profile = &document["profiles"][profile];
        ensure!(text(profile, "type") == "sampled" && text(profile, "unit") == "nanoseconds", "{profile}");
        let (samples, weights) = (&profile["samples"], &profile["weights"]);
        let (samples, weights) = (samples.as_array().context("samples")?, weights.as_array().context("weights")?);
        ensure!(samples.len() == weights.len(), "{} samples, {} weights", samples.len(), weights.len());
        let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
        ensure!(sum as f64 == number(&summary, metric)?, "{sum} of {}", summary[metric]);
        ensure!(profile["endValue"].as_u64() == Some(sum), "{}", profile["endValue"]);
        let rows = samples.iter().filter_map(Value::as_array).flatten();
        ensure!(rows.into_iter().all(|row| row.as_u64().is_some_and(|row| row < frames)), "a frame is missing");
    }
    let files = std::fs::read_dir(folder.path())?.count();
    ensure!(files == 1, "{files} files");
    Ok(())
}

/// What Go's pprof prints of a profile.
fn go_pprof(file: &Path, arguments: &[&str]) -> Result<String> {
    // It would look for the program's own symbols otherwise, and write to the home of whoever runs the tests.
    let mut command = Command::new(needs_go()?);
    command.args(["tool", "pprof", "-symbolize=none"]).args(arguments).arg(file);
    let output = Running::start(command.env("GOTOOLCHAIN", "local"))?.finish()?;
    ensure!(output.status.success(), "go tool pprof {}: {}", arguments.join(" "), output.stderr);
    Ok(output.stdout)
}

/// Sums of the values of the samples that `-raw` lists, each as `cpu wait waits: locations`.
fn raw_sums(raw: &str) -> Result<[u64; 3]> {
    let (_, samples) = raw.split_once("Samples:\n").context("no samples")?;
    let (samples, _) = samples.split_once("Locations\n").context("no locations")?;
    let numbers = |line: &str| -> Option<[u64; 3]> {
        let (values, _) = line.split_once(": ")?;
        let values: Vec<u64> = values.split_whitespace().map_while(|value| value.parse().ok()).collect();
        values.try_into().ok()
    };
    let sum = |sum: [u64; 3], values: [u64; 3]| std::array::from_fn(|at| sum[at] + values[at]);
    Ok(samples.lines().filter_map(numbers).fold([0; 3], sum))
}

fn pprof_adds_up() -> Result<()> {
    let recording = convoy()?;
    let folder = TempDir::new()?;
    let file = folder.path().join("convoy.pb.gz");
    let name = file.display().to_string();
    export(&recording, &["pprof", "--include-idle", "-o", &name])?;
    let raw = go_pprof(&file, &["-raw"])?;
    let sums = raw_sums(&raw)?;
    let summary = recording.report(&["summary"])?;
    for (sum, metric) in sums.iter().zip(["cpu_ns", "wait_ns", "wait_count"]) {
        ensure!(*sum as f64 == number(&summary, metric)? && *sum > 0, "{sum} of {} {metric}", summary[metric]);
    }
    let is_labelled = |line: &str| line.contains("object:[queue_lock]") && line.contains("type:[mutex]");
    ensure!(raw.lines().any(is_labelled), "no label of the mutex:\n{raw}");
    ensure!(raw.contains("convoy.c:"), "no source lines:\n{raw}");
    let top = go_pprof(&file, &["-top", "-sample_index=wait", "-tagfocus=object=queue_lock"])?;
    ensure!(top.contains("push_item"), "{top}");
    let filter = ["--filter", "object=queue_lock", "--time-range", "20ms-150ms"];
    export(&recording, &[&["pprof", "-o", &name], &filter[..]].concat())?;
    let (sums, reported) = (raw_sums(&go_pprof(&file, &["-raw"])?)?, summed(&recording, "wait_ns", &filter)?);
    ensure!(sums[1] == reported && reported > 0, "{} of {reported}", sums[1]);
    ensure!(std::fs::read_dir(folder.path())?.count() == 1, "more than the file is left");
    Ok(())
}

/// What OpenTelemetry's own classes read of the recording, exported with `arguments`.
fn read_otlp(python: &str, recording: &Recording, arguments: &[&str]) -> Result<Value> {
    let folder = TempDir::new()?;
    let file = folder.path().join("convoy.otlp.pb").display().to_string();
    export(recording, &[&["otlp", "-o", &file], arguments].concat())?;
    let output = Running::start(Command::new(python).args(["-c", OTLP_READER, &file]))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    Ok(serde_json::from_str(&output.stdout)?)
}

fn otlp_adds_up() -> Result<()> {
    let python = needs_program("python3")?;
    let package = "import opentelemetry.proto.profiles.v1development.profiles_pb2";
    if !Command::new(&python).args(["-c", package]).output()?.status.success() {
        return Err(Skip("Python has no package opentelemetry-proto with profiles".into()).into());
    }
    let recording = convoy()?;
    let told = read_otlp(&python, &recording, &["--include-idle"])?;
    let summary = recording.report(&["summary"])?;
    for (kind, unit, metric) in
        [("cpu", "nanoseconds", "cpu_ns"), ("wait", "nanoseconds", "wait_ns"), ("waits", "count", "wait_count")]
    {
        let (sum, reported) = (number(&told["sums"], kind)?, number(&summary, metric)?);
        ensure!(sum == reported && sum > 0.0 && told["units"][kind] == unit, "{sum} of {reported} {metric}: {told}");
    }
    for row in recording.rows(&["waits"])? {
        let sum = told["object_wait_ns"][text(&row, "object")].as_u64().unwrap_or(0);
        ensure!(sum as f64 == number(&row, "wait_ns")?, "{sum} of {row}");
    }
    let has = |list: &str, is: &dyn Fn(&str) -> bool| {
        told[list].as_array().is_some_and(|all| all.iter().filter_map(Value::as_str).any(is))
    };
    ensure!(has("types", &|kind| kind == "mutex") && has("threads", &|name| name.starts_with("worker-")), "{told}");
    ensure!(has("lines", &|line| line.starts_with("push_item ") && line.contains("convoy.c:")), "{told}");
    ensure!(number(&told, "build_ids")? > 0.0 && told["service"] == "convoy", "{told}");
    let filter = ["--filter", "object=queue_lock", "--time-range", "20ms-150ms"];
    let told = read_otlp(&python, &recording, &filter)?;
    let (sum, reported) = (number(&told["sums"], "wait")?, summed(&recording, "wait_ns", &filter)?);
    ensure!(sum == reported as f64 && reported > 0, "{sum} of {reported}");
    Ok(())
}

/// Weights of a thread's samples by the category of their innermost frame, µs.
fn weights_by_category(profile: &Value, thread: &Value, sums: &mut BTreeMap<String, u64>) -> Result<()> {
    let column = |table: &str, column: &str| thread[table][column].as_array().context("no column");
    let (stacks, weights) = (column("samples", "stack")?, column("samples", "weight")?);
    let (frames, categories) = (column("stackTable", "frame")?, column("frameTable", "category")?);
    for (stack, weight) in stacks.iter().zip(weights).filter(|(stack, _)| !stack.is_null()) {
        let row = |value: &Value| value.as_u64().map(|row| row as usize).context("no row");
        let category = row(&categories[row(&frames[row(stack)?])?])?;
        let name = text(&profile["meta"]["categories"][category], "name").to_owned();
        *sums.entry(name).or_default() += weight.as_u64().context("no weight")?;
    }
    Ok(())
}

fn firefox_adds_up() -> Result<()> {
    let recording = convoy()?;
    let folder = TempDir::new()?;
    let file = folder.path().join("convoy.profile.json").display().to_string();
    export(&recording, &["firefox", "--include-idle", "-o", &file])?;
    let profile: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let threads = profile["threads"].as_array().context("no threads")?;
    let mut sums = BTreeMap::new();
    threads.iter().try_for_each(|thread| weights_by_category(&profile, thread, &mut sums))?;
    let summary = recording.report(&["summary"])?;
    for (category, metric) in [("Running", "cpu_ns"), ("Waiting", "wait_ns")] {
        let (sum, reported) = (sums.get(category).copied().unwrap_or(0), number(&summary, metric)? / 1000.0);
        // Whole microseconds of a thread's time so far: each sample may be off by one, and their sum is not.
        let most = 200.0;
        ensure!((sum as f64 - reported).abs() <= most, "{category}: {sum} µs of {reported}");
    }
    let lives: u64 = recording.rows(&["threads"])?.iter().map(lifetime_us).sum::<Result<u64>>()?;
    let told: u64 = sums.values().sum();
    ensure!(told.abs_diff(lives) <= 2 * threads.len() as u64, "{told} µs of {lives}: {sums:?}");
    let waits = threads.iter().filter_map(|thread| thread["markers"]["data"].as_array()).flatten();
    let waits = waits.filter(|data| text(data, "type") == "DwellWait").count();
    ensure!(waits as f64 == number(&summary, "wait_count")?, "{waits} of {}", summary["wait_count"]);
    Ok(())
}

/// A thread's running, waiting and run-queue time, µs.
fn lifetime_us(row: &Value) -> Result<u64> {
    Ok((number(row, "lifetime_ns")? / 1000.0) as u64)
}

fn perfetto_adds_up() -> Result<()> {
    let python = needs_program("python3")?;
    let reader =
        Command::new(&python).args(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"]).output()?;
    if !reader.status.success() {
        return Err(Skip("Python has no package perfetto".into()).into());
    }
    let recording = convoy()?;
    let folder = TempDir::new()?;
    let file = folder.path().join("convoy.pftrace").display().to_string();
    export(&recording, &["perfetto", "-o", &file])?;
    let output = Running::start(Command::new(python).args(["-c", PERFETTO_READER, &file]))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let sums: Value = serde_json::from_str(&output.stdout)?;
    for row in recording.rows(&["threads"])? {
        let told = sums["running"][row["tid"].to_string()].as_u64().unwrap_or(0);
        let (reported, thread) = (number(&row, "running_ns")?, text(&row, "name"));
        ensure!((told as f64 - reported).abs() <= 1000.0, "{thread}: {told} of {reported}");
    }
    for row in recording.rows(&["waits"])? {
        let told = sums["wait_ns"][text(&row, "object")].as_u64().unwrap_or(0);
        ensure!(told as f64 == number(&row, "wait_ns")?, "{told} of {row}");
    }
    let summary = recording.report(&["summary"])?;
    ensure!(sums["waits"] == summary["wait_count"] && sums["open"] == 0, "{sums} of {}", summary["wait_count"]);
    ensure!(sums["starts"] == sums["ends"] && sums["starts"].as_u64() > Some(0), "{sums}");
    ensure!(sums["wrong_wakers"] == 0 && sums["wakings"].as_u64() > Some(0), "{sums}");
    let blocked = sums["blocked"].as_array().context("no reasons")?;
    ensure!(blocked.iter().any(|name| name == "queue_lock"), "{sums}");
    ensure!(sums["samples"].as_u64() > Some(0), "{sums}");
    Ok(())
}

fn words_that_make_no_sense() -> Result<()> {
    for (words, said) in [
        (&["export", "speedscope", "--weight", "wait"][..], "--weight is of the format folded"),
        (&["export", "flamegraph"], "flamegraph"),
        (&["export", "folded", "/nonexistent"], "/nonexistent"),
    ] {
        let output = run_dwell(words)?;
        ensure!(!output.status.success() && output.stderr.contains(said), "{words:?}: {}", output.stderr);
        ensure!(output.stdout.is_empty(), "{words:?}: {}", output.stdout);
    }
    Ok(())
}
