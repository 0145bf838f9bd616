//! What processors traced last, written as `perf record -e intel_pt//u` writes it: what [`crate::perf_data`] reads.

use crate::perf_data::{Mapping, kind};

/// `struct perf_file_header`, and an attribute of `PERF_ATTR_SIZE_VER5` with its section of ids.
const HEADER_BYTES: u64 = 104;
const ATTRIBUTE_BYTES: u64 = 112;
const IDS_BYTES: u64 = 16;
/// `PERF_AUXTRACE_INTEL_PT`.
const INTEL_PT: u64 = 1;
/// Words of `enum` of tools/perf/util/intel-pt.h that are written.
const SETTINGS: usize = 18;
/// No thread.
const NOBODY: u64 = u32::MAX as u64;
/// The most that a record's size can say, in whole words.
const MOST_RECORD_BYTES: usize = u16::MAX as usize & !7;

/// How the processors were told to trace, and how their clock counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The device's type, of `perf_event_attr`.
    pub ty: u32,
    /// What it was told.
    pub config: u64,
    /// Bits of `config` that are the period of MTC packets; 0: none come.
    pub mtc_bits: u64,
    /// From the time stamp counter to ns: `time_shift`, `time_mult` and `time_zero` of `perf_event_mmap_page`.
    pub clock: [u64; 3],
    /// Ratio of the time stamp counter to the crystal clock: numerator and denominator; zeros: not known.
    pub crystal_ratio: [u32; 2],
    /// Ratio of the time stamp counter to the bus clock.
    pub bus_ratio: u8,
}

/// A file of perf's with what each CPU traced, oldest first, and the code that was mapped.
pub fn perf_data(settings: &Settings, mappings: &[Mapping], traces: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut data = record(kind::AUXTRACE_INFO, &info(settings));
    mappings.iter().for_each(|mapping| data.extend(record(kind::MMAP, &mapped(mapping))));
    for (number, (cpu, trace)) in traces.iter().enumerate() {
        // Size, offset, reference, queue and thread, CPU; the trace follows its record.
        let queue = number as u64 | NOBODY << 32;
        let padded = trace.len().next_multiple_of(8);
        data.extend(record(kind::AUXTRACE, &words(&[padded as u64, 0, 0, queue, u64::from(*cpu)])));
        data.extend(trace);
        data.resize(data.len() + padded - trace.len(), 0); // as packets these bytes are padding, too
    }
    let mut attribute = words(&[ATTRIBUTE_BYTES << 32 | u64::from(settings.ty), settings.config]);
    attribute.resize((ATTRIBUTE_BYTES + IDS_BYTES) as usize, 0);
    let data_at = HEADER_BYTES + attribute.len() as u64;
    let mut file = b"PERFILE2".to_vec();
    file.extend(words(&[HEADER_BYTES, ATTRIBUTE_BYTES + IDS_BYTES, HEADER_BYTES, attribute.len() as u64]));
    file.extend(words(&[data_at, data.len() as u64, 0, 0, 0, 0, 0, 0]));
    file.extend(attribute);
    file.extend(data);
    file
}

fn info(settings: &Settings) -> Vec<u8> {
    let [shift, mult, zero] = settings.clock;
    let mut told = [0; 1 + SETTINGS];
    told[0] = INTEL_PT;
    told[1] = settings.ty.into();
    told[2..5].copy_from_slice(&[shift, mult, zero]);
    told[1 + 11] = settings.mtc_bits;
    told[1 + 12] = settings.crystal_ratio[0].into();
    told[1 + 13] = settings.crystal_ratio[1].into();
    told[1 + 15] = settings.bus_ratio.into();
    words(&told)
}

fn mapped(mapping: &Mapping) -> Vec<u8> {
    let pid = u64::from(mapping.pid);
    let mut payload = words(&[pid << 32 | pid, mapping.address, mapping.length, mapping.offset]);
    let path = mapping.path.as_os_str().as_encoded_bytes();
    payload.extend(&path[..path.len().min(MOST_RECORD_BYTES - payload.len() - 16)]);
    payload.resize((payload.len() + 1).next_multiple_of(8), 0);
    payload
}

/// A record: its type, flags, size and payload.
pub(crate) fn record(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend([0, 0]);
    bytes.extend((payload.len() as u16 + 8).to_le_bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::perf_data::{PerfData, Trace};

    #[test]
    fn what_is_written_is_what_is_read() {
        let settings = Settings {
            ty: 9,
            config: 3 << 14 | 1 << 10,
            mtc_bits: 0xf << 14,
            clock: [1, 10, 1 << 10],
            crystal_ratio: [176, 2],
            bus_ratio: 24,
        };
        let mapping = |pid: u32, path: &str| Mapping {
            pid,
            address: 0x40_1000,
            length: 0x1000,
            offset: 0x2000,
            path: PathBuf::from(path),
        };
        let mappings = [mapping(7, "/bin/a program"), mapping(8, &format!("/{}", "x".repeat(100_000)))];
        let traces = [(0, vec![1; 13]), (3, Vec::new())];
        let read = PerfData::parse(&perf_data(&settings, &mappings, &traces)).expect("a file of perf's");
        assert_eq!(read.mappings[0], mappings[0]);
        assert_eq!(read.mappings.len(), 2);
        let mut first = vec![1; 13];
        first.resize(16, 0);
        let expected =
            [(0, first), (3, Vec::new())].map(|(cpu, bytes)| Trace { tid: None, cpu: Some(cpu), bytes, cut: 0 });
        assert_eq!(read.traces, expected);
        assert_eq!(read.conversion.ns(2000), Some((1 << 10) + 10_000));
        assert_eq!((read.processor.mtc_freq, read.processor.nom_freq), (3, 24));
        assert_eq!(read.processor.cpuid_0x15, [2, 176]);
    }
}
