//! Very many calls of a few bytes.

use super::*;

/// Makes a function one of the kernel's.
fn in_kernel(trace: &mut Trace, function: &str, name: &str) {
    let frame = trace.frames.function.iter().position(|known| known == function).unwrap();
    (trace.frames.function[frame], trace.frames.kernel[frame]) = (name.into(), true);
}

/// A thread that runs in `write` half of its time, and makes so many calls of so many bytes.
fn writer(calls: u64, bytes: u64) -> Trace {
    let mut trace = repeated(&[("a", "1111####"), ("b", "2222####")], 10);
    in_kernel(&mut trace, "f1", "ksys_write");
    in_kernel(&mut trace, "f2", "__x64_sys_read");
    (trace.threads.write_calls[0], trace.threads.write_bytes[0]) = (calls, calls * bytes);
    trace
}

#[test]
fn many_writes_of_a_few_bytes() {
    let finding = the("small-writes", &writer(20_000, 12));
    let text = finding.evidence.to_string();
    assert!(text.contains("20000 calls that write, of 12 bytes each"), "{text}");
    assert_eq!(finding.cost_ns, 40 * CELL);
    assert!(!ids(&writer(20_000, 4096)).contains(&"small-writes"), "they are large");
    assert!(!ids(&writer(500, 12)).contains(&"small-writes"), "they are few");
    assert!(!ids(&writer(0, 0)).contains(&"small-writes"), "nobody counted them");
}

#[test]
fn many_reads_of_a_few_bytes() {
    let mut trace = writer(0, 0);
    (trace.threads.read_calls[1], trace.threads.read_bytes[1]) = (50_000, 50_000);
    let text = the("small-reads", &trace).evidence.to_string();
    assert!(text.contains("50000 calls that read, of 1 byte each"), "{text}");
}

/// A server writes an answer to each of its clients.
#[test]
fn writes_to_sockets_are_answers() {
    for (function, is_told) in [("ext4_file_write_iter", true), ("sock_write_iter", false)] {
        let mut trace = repeated(&[("a", "11111111")], 10);
        (trace.threads.write_calls[0], trace.threads.write_bytes[0]) = (20_000, 240_000);
        in_kernel(&mut trace, "main", "ksys_write");
        in_kernel(&mut trace, "f1", function);
        assert_eq!(ids(&trace).contains(&"small-writes"), is_told, "{function}");
    }
}

/// Calls are counted of all the time and of all threads.
#[test]
fn nothing_is_said_of_a_part_of_the_time() {
    let trace = writer(20_000, 12);
    let query = Query { range: Some((0, trace.elapsed_ns() / 2)), ..Query::default() };
    let fold = Fold::new(&trace, &query).unwrap();
    assert!(findings_of(&fold).iter().all(|(def, _)| def.id != "small-writes"));
}
