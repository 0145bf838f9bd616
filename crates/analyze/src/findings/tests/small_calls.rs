//! Very many calls of a few bytes.

use super::*;

/// A thread that runs in `write` half of its time, and makes so many calls of so many bytes.
fn writer(calls: u64, bytes: u64) -> Trace {
    let mut trace = repeated(&[("a", "1111####"), ("b", "2222####")], 10);
    for (function, name) in [("f1", "__libc_write"), ("f2", "read")] {
        let frame = trace.frames.function.iter().position(|known| known == function).unwrap();
        trace.frames.function[frame] = name.into();
    }
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
    let mut trace = writer(20_000, 12);
    let frame = |trace: &Trace, function: &str| trace.frames.function.iter().position(|name| name == function).unwrap();
    let (called, caller) = (frame(&trace, "__libc_write"), frame(&trace, "main"));
    trace.frames.function[caller] = "write".into();
    for (function, is_told) in [("ext4_file_write_iter", true), ("sock_write_iter", false)] {
        (trace.frames.function[called], trace.frames.kernel[called]) = (function.into(), true);
        assert_eq!(ids(&trace).contains(&"small-writes"), is_told, "{function}");
    }
}
