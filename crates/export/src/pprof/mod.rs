//! pprof's profile: a sample for each place, with CPU time, wait time and number of waits, and labels that say which thread it is of,
//! what it waited on and who ended the wait.

pub(crate) mod code_rows;
pub(crate) mod message;
pub(crate) mod string_rows;

use std::io::{Result, Write};

use dwell_analyze::Fold;
use dwell_analyze::selected::{SelectedPlace, idle_wait_ns, places, selected_ns, thread_name};
use dwell_model::{ObjectType, WakerKind};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use crate::losses;
use code_rows::CodeRows;
use message::{Label, Profile, Sample, ValueType};
use string_rows::StringRows;

/// What the values of a sample are, in their order, each with its unit.
const SAMPLE_TYPES: [(&str, &str); 3] = [("cpu", "nanoseconds"), ("wait", "nanoseconds"), ("waits", "count")];

/// Writes what the fold's query selects, compressed by gzip as pprof's tools expect it. What was lost, and the waits of idle workers
/// that were left out, is told in the comments. Fails where `out` does.
pub fn write(fold: &Fold<'_>, out: &mut dyn Write) -> Result<()> {
    let mut out = GzEncoder::new(out, Compression::default());
    let mut writer = ProfileWriter { fold, strings: StringRows::default(), code: CodeRows::default() };
    append(&mut out, &writer.head())?;
    for place in places(fold) {
        let sample = vec![writer.sample(&place)];
        append(&mut out, &Profile { sample, ..Profile::default() })?;
    }
    let ProfileWriter { strings, code, .. } = writer;
    append(&mut out, &code.finish())?;
    append(&mut out, &Profile { string_table: strings.finish(), ..Profile::default() })?;
    out.finish().map(drop)
}

fn append(out: &mut impl Write, part: &Profile) -> Result<()> {
    out.write_all(&part.encode_to_vec())
}

struct ProfileWriter<'f, 't> {
    fold: &'f Fold<'t>,
    strings: StringRows,
    code: CodeRows,
}

impl ProfileWriter<'_, '_> {
    fn head(&mut self) -> Profile {
        let manifest = &self.fold.trace.manifest;
        let mut comments = vec![losses::EXPORTER.to_owned(), manifest.command.join(" ")];
        comments.extend(losses::remarks(self.fold.trace, idle_wait_ns(self.fold)));
        let sample_type: Vec<ValueType> = SAMPLE_TYPES.iter().map(|kind| self.value_type(*kind)).collect();
        Profile {
            period_type: sample_type.first().copied(),
            period: signed(manifest.sampling_interval_ns),
            default_sample_type: sample_type.first().map_or(0, |kind| kind.kind),
            sample_type,
            time_nanos: (manifest.started_at * 1e9) as i64,
            duration_nanos: signed(selected_ns(self.fold)),
            comment: comments.iter().map(|comment| self.strings.row(comment)).collect(),
            ..Profile::default()
        }
    }

    fn value_type(&mut self, (kind, unit): (&str, &str)) -> ValueType {
        ValueType { kind: self.strings.row(kind), unit: self.strings.row(unit) }
    }

    fn sample(&mut self, place: &SelectedPlace) -> Sample {
        let location_id = self.code.stack(self.fold, place.stack, &mut self.strings);
        let value = [place.cpu_ns, place.wait_ns, place.waits].map(signed).into();
        Sample { location_id, value, label: self.labels(place) }
    }

    fn labels(&mut self, place: &SelectedPlace) -> Vec<Label> {
        let trace = self.fold.trace;
        let mut labels = vec![self.label("thread", &thread_name(self.fold, place.thread))];
        if let Some(object) = place.object.get().filter(|row| *row < trace.objects.name.len()) {
            labels.push(self.label("object", &trace.objects.name[object]));
            labels.push(self.label("type", ObjectType::from_code(trace.objects.kind[object]).id()));
        }
        if place.waits > 0 || place.wait_ns > 0 {
            let waker = match place.waker_kind {
                WakerKind::Thread => thread_name(self.fold, place.waker),
                kind => kind.id().to_owned(),
            };
            labels.push(self.label("waker", &waker));
            labels.push(self.label("idle", if place.idle { "yes" } else { "no" }));
        }
        labels
    }

    fn label(&mut self, key: &str, text: &str) -> Label {
        Label { key: self.strings.row(key), text: self.strings.row(text) }
    }
}

/// As the format has numbers; ones that have no room in it, which no sound trace has, are the largest.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use dwell_analyze::Query;

    use super::*;
    use crate::test_trace::two_threads;

    fn profile() -> Profile {
        let (trace, query) = (two_threads(), Query::default());
        let mut out = Vec::new();
        write(&Fold::new(&trace, &query).unwrap(), &mut out).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(out.as_slice()).read_to_end(&mut bytes).unwrap();
        Profile::decode(bytes.as_slice()).unwrap()
    }

    #[test]
    fn samples_add_up() {
        let profile = profile();
        let sum = |value: usize| profile.sample.iter().map(|sample| sample.value[value]).sum::<i64>();
        assert_eq!([sum(0), sum(1), sum(2)], [5_000_000, 3_000_000, 1]);
        assert_eq!(profile.string_table[0], "");
    }

    #[test]
    fn a_wait_has_labels_and_an_inlined_caller() {
        let profile = profile();
        let text = |row: i64| profile.string_table[row as usize].as_str();
        let wait = profile.sample.iter().find(|sample| sample.value[1] > 0).unwrap();
        let labels: Vec<(&str, &str)> = wait.label.iter().map(|label| (text(label.key), text(label.text))).collect();
        let expected =
            [("thread", "work;er (11)"), ("object", "queue_lock"), ("type", "mutex"), ("waker", "main (10)")];
        assert_eq!(labels[..4], expected);
        let location = |id: &u64| profile.location.iter().find(|location| location.id == *id).unwrap();
        let name = |line: &message::Line| text(profile.function[line.function_id as usize - 1].name);
        let lines = |id: &u64| location(id).line.iter().map(name).collect::<Vec<_>>();
        let stack: Vec<Vec<&str>> = wait.location_id.iter().map(lines).collect();
        assert_eq!(stack, [vec!["pthread_mutex_lock"], vec!["push_item", "main"]]);
        let mapping = profile.mapping[location(&wait.location_id[1]).mapping_id as usize - 1];
        assert_eq!((text(mapping.filename), text(mapping.build_id)), ("/bin/app", "abcdef"));
    }
}
