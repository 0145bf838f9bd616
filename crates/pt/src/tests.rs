//! Traces that libipt's own encoder made of a small program, whole and damaged.
#![allow(unsafe_code, reason = "libipt's encoder")]

use std::ffi::{CStr, c_int, c_void};
use std::fs;

use tempfile::TempDir;

use crate::calls::Timeline;
use crate::decoder::{Code, Decoder, Processor, Step};
use crate::libipt::Config;
use crate::perf_data::PerfData;
use crate::snapshot::{record, words as words_of};

/// Where the program lies; its file has the code at 0x1000.
const MAIN: u64 = 0x40_1000;
const F: u64 = 0x40_1020;
const G: u64 = 0x40_1030;

/// main: call f; call g; jne main; nop; nop. f: nop; ret. g: call f; ret.
fn program() -> Vec<u8> {
    let mut code = vec![0xcc; 0x40];
    code[..0x0e].copy_from_slice(&[0xe8, 0x1b, 0, 0, 0, 0xe8, 0x26, 0, 0, 0, 0x75, 0xf4, 0x90, 0x90]);
    code[0x20..0x22].copy_from_slice(&[0x90, 0xc3]);
    code[0x30..0x36].copy_from_slice(&[0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3]);
    code
}

struct Program(Vec<u8>);

impl Code for Program {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let code = usize::try_from(address.wrapping_sub(MAIN)).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let known = code.len().min(buffer.len());
        buffer[..known].copy_from_slice(&code[..known]);
        known
    }
}

/// Packets, by `enum pt_packet_type` and the members of `struct pt_packet`.
enum Packet {
    Psb,
    PsbEnd,
    Exec64,
    Tsc(u64),
    /// TIP.PGE
    On(u64),
    /// FUP, then TIP.PGD without an address.
    Off(u64),
    /// Branches, the first one first: taken, or a return to where the call was.
    Branches(&'static [bool]),
    Overflow,
}

fn words(packet: &Packet) -> Vec<[u64; 16]> {
    let packet_of = |kind: u64, first: u64, second: u64| {
        let mut words = [0; 16];
        (words[0], words[1], words[2]) = (kind, first, second);
        words
    };
    const FULL: u64 = 6;
    match *packet {
        Packet::Psb => vec![packet_of(3, 0, 0)],
        Packet::PsbEnd => vec![packet_of(4, 0, 0)],
        Packet::Exec64 => vec![packet_of(11, 1 << 32, 0)],
        Packet::Tsc(tsc) => vec![packet_of(15, tsc, 0)],
        Packet::On(ip) => vec![packet_of(7, FULL, ip)],
        Packet::Off(ip) => vec![packet_of(5, FULL, ip), packet_of(8, 0, 0)],
        Packet::Branches(taken) => {
            let bits = taken.iter().fold(0, |bits, &taken| bits << 1 | u64::from(taken));
            vec![packet_of(9, taken.len() as u64, bits)]
        }
        Packet::Overflow => vec![packet_of(20, 0, 0)],
    }
}

/// The trace of these packets, by `pt_enc_next`; none where there is no libipt.
fn encoded(packets: &[Packet]) -> Option<Vec<u8>> {
    let mut trace = vec![0u8; 4096];
    // SAFETY: the functions are declared as intel-pt.h does, and the buffer outlives the encoder.
    unsafe {
        let handle = libc::dlopen(c"libipt.so.2".as_ptr(), libc::RTLD_NOW);
        if handle.is_null() {
            eprintln!("not tested: libipt2 is not installed");
            return None;
        }
        let find = |name: &CStr| libc::dlsym(handle, name.as_ptr());
        let allocate: unsafe extern "C" fn(*const Config) -> *mut c_void =
            std::mem::transmute(find(c"pt_alloc_encoder"));
        let next: unsafe extern "C" fn(*mut c_void, *const [u64; 16]) -> c_int =
            std::mem::transmute(find(c"pt_enc_next"));
        let free: unsafe extern "C" fn(*mut c_void) = std::mem::transmute(find(c"pt_free_encoder"));
        let mut config: Config = std::mem::zeroed();
        config.size = size_of::<Config>();
        config.begin = trace.as_mut_ptr();
        config.end = config.begin.add(trace.len());
        let encoder = allocate(&raw const config);
        assert!(!encoder.is_null());
        let mut length = 0;
        for words in packets.iter().flat_map(words) {
            let size = next(encoder, &raw const words);
            assert!(size > 0, "packet {}: {size}", words[0]);
            length += size as usize;
        }
        free(encoder);
        trace.truncate(length);
    }
    Some(trace)
}

/// Twice through the program, and off.
fn two_rounds() -> Vec<Packet> {
    use Packet::*;
    vec![
        Psb,
        Exec64,
        Tsc(1000),
        PsbEnd,
        On(MAIN),
        Branches(&[true, true, true, true]),
        Tsc(2000),
        Branches(&[true, true, true, false]),
        Off(MAIN + 0x0d),
    ]
}

fn function(ip: u64) -> &'static str {
    match ip {
        G.. => "g",
        F.. => "f",
        _ => "main",
    }
}

fn timeline(trace: &[u8]) -> Timeline<&'static str> {
    let program = Program(program());
    let decoder = Decoder::new(trace, &program, &Processor::default()).expect("libipt");
    Timeline::of(decoder, 1000, function)
}

#[test]
fn calls_and_returns_of_a_whole_trace() {
    let Some(trace) = encoded(&two_rounds()) else { return };
    let timeline = timeline(&trace);
    let shown: Vec<String> =
        timeline.stretches.iter().map(|it| format!("{}{}*{}", it.depth, it.function, it.instructions)).collect();
    let expected = "0main*1 1f*2 0main*1 1g*1 2f*2 1g*1 0main*2 1f*2 0main*1 1g*1 2f*2 1g*1 0main*2";
    assert_eq!(shown.join(" "), expected);
    assert_eq!((timeline.instructions, timeline.gaps.len(), timeline.pauses), (19, 0, 1));
    assert!(timeline.stretches.is_sorted_by_key(|it| it.tsc));
    assert_eq!(timeline.stretches.first().map(|it| it.tsc), Some(1000));
    assert_eq!(timeline.stretches.last().map(|it| it.tsc), Some(2000));
}

#[test]
fn only_so_many_stretches_are_kept() {
    let Some(trace) = encoded(&two_rounds()) else { return };
    let program = Program(program());
    let decoder = Decoder::new(&trace, &program, &Processor::default()).expect("libipt");
    let timeline = Timeline::of(decoder, 3, function);
    assert_eq!((timeline.stretches.len(), timeline.left_out), (3, 10));
}

#[test]
fn an_overflow_and_missing_code_are_gaps() {
    use Packet::*;
    let Some(trace) = encoded(&[
        Psb,
        Exec64,
        PsbEnd,
        On(MAIN),
        Branches(&[true]),
        Overflow,
        On(0x7000),
        Psb,
        Exec64,
        PsbEnd,
        On(F),
        Off(F + 1),
    ]) else {
        return;
    };
    let timeline = timeline(&trace);
    assert!(timeline.gaps.iter().map(|(_, count)| count).sum::<u64>() >= 1, "{timeline:?}");
    assert_eq!(timeline.stretches.last().map(|it| it.function), Some("f"), "it goes on behind the gap: {timeline:?}");
}

/// Each byte of the trace wrong in turn, and each length: gaps at most, and an end.
#[test]
fn damaged_traces_end_without_a_panic() {
    let Some(mut trace) = encoded(&[two_rounds(), two_rounds()].into_iter().flatten().collect::<Vec<_>>()) else {
        return;
    };
    let program = Program(program());
    let steps =
        |trace: &[u8]| Decoder::new(trace, &program, &Processor::default()).expect("libipt").take(100_000).count();
    let whole = steps(&trace);
    for at in 0..trace.len() {
        for wrong in [0x00, 0x55, 0xff] {
            let right = std::mem::replace(&mut trace[at], wrong);
            assert!(steps(&trace) < 100_000, "byte {at} = {wrong}");
            trace[at] = right;
        }
        assert!(steps(&trace[..at]) <= whole + 64, "cut at {at}");
    }
    let lost = |step: &Step| matches!(step, Step::Gap { lost: true, .. });
    let mut cut = trace.clone();
    let middle = cut.len() / 4;
    cut[middle..middle + 4].fill(0xff);
    assert!(Decoder::new(&cut, &program, &Processor::default()).expect("libipt").filter(lost).count() > 0);
}

/// A jump to itself needs no packet: without an end to it the trace would have none.
#[test]
fn a_circle_ends() {
    let Some(trace) = encoded(&[Packet::Psb, Packet::Exec64, Packet::PsbEnd, Packet::On(MAIN)]) else { return };
    let program = Program(vec![0xeb, 0xfe]);
    let last = Decoder::new(&trace, &program, &Processor::default()).expect("libipt").last();
    assert!(matches!(last, Some(Step::Gap { lost: true, .. })), "{last:?}");
}

/// A perf.data with one attribute, one mapping and one trace of thread 7.
fn perf_data(path: &str, trace: &[u8]) -> Vec<u8> {
    let mut settings = vec![1u64, 9, 10, 1 << 10, 5000];
    settings.resize(18, 0);
    settings[1 + 11] = 0xf << 14; // the bits of the MTC period in the event's configuration
    let mut map = words_of(&[7 << 32 | 7, MAIN, 0x40, 0x1000, 0, 0, 0, 5]);
    map.extend(path.as_bytes());
    map.resize(map.len().next_multiple_of(8) + 8, 0);
    let mut data = record(70, &words_of(&settings));
    data.extend(record(10, &map));
    data.extend(record(71, &words_of(&[trace.len() as u64, 0, 0, 7 << 32, u64::from(u32::MAX)])));
    data.extend(trace);
    let mut attribute = words_of(&[112 << 32 | 9, 3 << 14]);
    attribute.resize(112 + 16, 0);
    let mut bytes = b"PERFILE2".to_vec();
    let data_at = 104 + attribute.len() as u64;
    bytes.extend(words_of(&[104, 128, 104, attribute.len() as u64, data_at, data.len() as u64, 0, 0, 0, 0, 0, 0]));
    bytes.extend(attribute);
    bytes.extend(data);
    bytes
}

#[test]
fn a_file_of_perf_is_read_and_decoded() {
    let Some(trace) = encoded(&two_rounds()) else { return };
    let folder = TempDir::new().expect("folder");
    let path = folder.path().join("program");
    fs::write(&path, [vec![0; 0x1000], program()].concat()).expect("a file");
    let file = PerfData::parse(&perf_data(&path.display().to_string(), &trace)).expect("perf.data");
    assert_eq!((file.traces.len(), file.processor.mtc_freq), (1, 3));
    assert_eq!((file.traces[0].tid, file.traces[0].cpu), (Some(7), None));
    assert_eq!(file.conversion.ns(2000), Some(7000));
    let code = file.code_of(file.process_of(&file.traces[0]).expect("a process"));
    assert_eq!(code.place(G), Some((path.as_path(), 0x1030)));
    let decoder = Decoder::new(&file.traces[0].bytes, &code, &file.processor).expect("libipt");
    assert_eq!(Timeline::of(decoder, 1000, function).instructions, 19);
}

#[test]
fn damaged_files_of_perf_are_errors_or_less() {
    let whole = perf_data("/bin/true", &[0; 64]);
    assert!(PerfData::parse(&whole).is_ok());
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] = 0xff;
        let _ = PerfData::parse(&damaged);
        let _ = PerfData::parse(&whole[..at]);
    }
    let pipe = [b"PERFILE2".as_slice(), &16u64.to_le_bytes()].concat();
    for (bytes, word) in [(b"GARBAGE!".as_slice(), "begin"), (&pipe, "pipe"), (&whole[..40], "header")] {
        assert!(PerfData::parse(bytes).is_err_and(|error| error.to_string().contains(word)));
    }
}
