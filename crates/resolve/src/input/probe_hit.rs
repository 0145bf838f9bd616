//! Hits of probes with values (`--probe`): the values of a record. It trusts no length in it.

use dwell_model::MarkerValueKind;
use dwell_store::raw::wire::{MOST_PROBE_VALUES, PROBE_TEXT_BYTES, ProbeHitRecord, probe_type};

use super::annotation_event::{AnnotationEvent, AnnotationKind, HitValue};
use super::texts::{TextId, Texts};

/// The hit; `texts` follow the record, one after the other.
pub fn hit(record: &ProbeHitRecord, texts: &[u8], known: &mut Texts) -> AnnotationEvent {
    let mut texts = texts.chunks_exact(PROBE_TEXT_BYTES);
    let count = record.types.iter().take_while(|ty| **ty != probe_type::NONE).count();
    let mut values = Vec::with_capacity(count);
    for at in 0..count.min(MOST_PROBE_VALUES) {
        // A text has its bytes whether or not it could be read.
        let bytes = if record.types[at] == probe_type::TEXT { texts.next() } else { None };
        values.push(value(record, at, bytes, known));
    }
    let what = AnnotationKind::Hit { probe: record.probe, values: values.into() };
    let (tid, time_ns) = (record.h.tid, record.h.time_ns);
    AnnotationEvent { tid, tgid: record.tgid, source: 0, time_ns, at_ns: time_ns, what }
}

fn value(record: &ProbeHitRecord, at: usize, bytes: Option<&[u8]>, known: &mut Texts) -> HitValue {
    let (bits, is_set) = (record.values[at], |mask: u8| mask >> at & 1 != 0);
    let number = |kind| HitValue { kind, bits, text: TextId::EMPTY };
    let nothing = |kind| HitValue { kind, bits: 0, text: TextId::EMPTY };
    if is_set(record.faulted) {
        return nothing(MarkerValueKind::Faulted);
    }
    match record.types[at] {
        probe_type::UNSIGNED => number(MarkerValueKind::Unsigned),
        probe_type::SIGNED => number(MarkerValueKind::Signed),
        probe_type::HEX => number(MarkerValueKind::Hex),
        probe_type::TEXT => bytes.map_or_else(
            || nothing(MarkerValueKind::Unknown),
            |bytes| {
                let kept = bytes.len().min(usize::try_from(bits).unwrap_or(usize::MAX));
                let mut text = String::from_utf8_lossy(&bytes[..kept]).into_owned();
                if is_set(record.cut) {
                    text.push('…');
                }
                HitValue { kind: MarkerValueKind::Text, bits: 0, text: known.intern(text.as_bytes()) }
            },
        ),
        _ => nothing(MarkerValueKind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable as _;

    use super::*;

    #[test]
    fn values_are_read_by_their_types_and_faults_are_no_zeros() {
        let mut record = ProbeHitRecord::zeroed();
        record.types[..5].copy_from_slice(&[
            probe_type::SIGNED,
            probe_type::TEXT,
            probe_type::UNSIGNED,
            probe_type::TEXT,
            probe_type::TEXT,
        ]);
        record.values[..5].copy_from_slice(&[u64::MAX, 3, 0, u64::MAX, 2]);
        (record.faulted, record.cut) = (0b100, 0b1000);
        let mut texts = [0; 2 * PROBE_TEXT_BYTES];
        texts[..4].copy_from_slice(b"abcd");
        texts[PROBE_TEXT_BYTES..].fill(b'x');
        let mut known = Texts::default();
        let AnnotationKind::Hit { values, .. } = hit(&record, &texts, &mut known).what else { panic!("no hit") };
        let kinds: Vec<MarkerValueKind> = values.iter().map(|value| value.kind).collect();
        use MarkerValueKind as Kind;
        // The last text is not in the record: it is unknown, not empty.
        assert_eq!(kinds, [Kind::Signed, Kind::Text, Kind::Faulted, Kind::Text, Kind::Unknown]);
        assert_eq!(values[0].bits, u64::MAX);
        assert_eq!(known.show(values[1].text, "text"), "abc");
        assert_eq!(known.show(values[3].text, "text"), format!("{}…", "x".repeat(PROBE_TEXT_BYTES)));
    }
}
