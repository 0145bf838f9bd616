//! OpenTelemetry's profiles: one each of CPU time, wait time and number of waits, over common tables of stacks and attributes, which
//! say which thread a sample is of, what it waited on and who ended the wait.
//!
//! OpenTelemetry calls this signal alpha: field numbers may change. Which release Dwell writes is in `message`.

mod dictionary;
mod message;

use std::collections::BTreeMap;
use std::io::{Result, Write};
use std::path::Path;

use dwell_analyze::Fold;
use dwell_analyze::selected::{SelectedPlace, idle_wait_ns, places, selected_ns, thread_name};
use dwell_model::{ObjectType, WakerKind};
use dwell_store::Trace;
use prost::Message;

use crate::losses;
use dictionary::Dictionary;
use message::{
    InstrumentationScope, KeyValue, OtlpProfile, OtlpSample, ProfilesData, Resource, ResourceProfiles, ScopeProfiles,
};

/// What the profiles are of, in their order, each with its unit. Tools show the first where none is chosen.
const SAMPLE_TYPES: [(&str, &str); 3] = [("cpu", "nanoseconds"), ("wait", "nanoseconds"), ("waits", "count")];

/// What samples have in common: the row of their stack and those of their attributes.
type SampleIdentity = (i32, Vec<i32>);

/// Writes what the fold's query selects. What was lost, and the waits of idle workers that were left out, is told in an attribute of
/// each profile. Fails where `out` does, or where a table has more than 2^31 rows.
pub fn write(fold: &Fold<'_>, out: &mut dyn Write) -> Result<()> {
    let mut dictionary = Dictionary::default();
    let profiles = profiles(fold, &mut dictionary)?;
    let scope = InstrumentationScope { name: "dwell".into(), version: env!("CARGO_PKG_VERSION").into() };
    let resource_profiles = vec![ResourceProfiles {
        resource: Some(resource(fold.trace)),
        scope_profiles: vec![ScopeProfiles { scope: Some(scope), profiles }],
    }];
    out.write_all(&ProfilesData { resource_profiles, dictionary: None }.encode_to_vec())?;
    let dictionary = Some(dictionary.finish()?);
    out.write_all(&ProfilesData { dictionary, ..ProfilesData::default() }.encode_to_vec())
}

fn profiles(fold: &Fold<'_>, dictionary: &mut Dictionary) -> Result<Vec<OtlpProfile>> {
    let mut sums: BTreeMap<SampleIdentity, [u64; 3]> = BTreeMap::new();
    for place in places(fold) {
        let identity = (dictionary.stack(fold, place.stack)?, attributes(fold, &place, dictionary)?);
        let sum = sums.entry(identity).or_default();
        for (sum, value) in sum.iter_mut().zip([place.cpu_ns, place.wait_ns, place.waits]) {
            *sum = sum.saturating_add(value);
        }
    }
    (0..SAMPLE_TYPES.len()).map(|value| profile(fold, value, &sums, dictionary)).collect()
}

/// The profile of one of the [`SAMPLE_TYPES`], with a sample wherever it is more than zero.
fn profile(
    fold: &Fold<'_>,
    value: usize,
    sums: &BTreeMap<SampleIdentity, [u64; 3]>,
    dictionary: &mut Dictionary,
) -> Result<OtlpProfile> {
    let manifest = &fold.trace.manifest;
    let sample = |((stack, attributes), values): (&SampleIdentity, &[u64; 3])| {
        let attribute_indices = attributes.clone();
        (values[value] > 0).then(|| OtlpSample {
            stack_index: *stack,
            attribute_indices,
            values: vec![signed(values[value])],
        })
    };
    let sample_type = dictionary.value_type(SAMPLE_TYPES[value])?;
    // Running time is sampled; waits are all recorded.
    let period_ns = if value == 0 { manifest.sampling_interval_ns } else { 0 };
    let remarks = losses::remarks(fold.trace, idle_wait_ns(fold)).join("; ");
    let remarks = Some(remarks.as_str()).filter(|remarks| !remarks.is_empty());
    Ok(OtlpProfile {
        sample_type: Some(sample_type),
        samples: sums.iter().filter_map(sample).collect(),
        time_unix_nano: (manifest.started_at * 1e9) as u64,
        duration_nano: selected_ns(fold),
        period_type: (period_ns > 0).then_some(sample_type),
        period: signed(period_ns),
        attribute_indices: remarks
            .map(|text| dictionary.attribute("dwell.missing", text))
            .transpose()?
            .into_iter()
            .collect(),
    })
}

fn attributes(fold: &Fold<'_>, place: &SelectedPlace, dictionary: &mut Dictionary) -> Result<Vec<i32>> {
    let trace = fold.trace;
    let mut rows = Vec::new();
    match place.thread.get().filter(|row| *row < trace.threads.tid.len()) {
        Some(thread) => {
            rows.push(dictionary.attribute("thread.name", trace.threads.name[thread].as_str())?);
            rows.push(dictionary.attribute("thread.id", trace.threads.tid[thread])?);
        }
        None => rows.push(dictionary.attribute("thread.name", thread_name(fold, place.thread).as_str())?),
    }
    if let Some(object) = place.object.get().filter(|row| *row < trace.objects.name.len()) {
        rows.push(dictionary.attribute("dwell.object.name", trace.objects.name[object].as_str())?);
        let kind = ObjectType::from_code(trace.objects.kind[object]).id();
        rows.push(dictionary.attribute("dwell.object.type", kind)?);
    }
    if place.waits > 0 || place.wait_ns > 0 {
        let waker = match place.waker_kind {
            WakerKind::Thread => thread_name(fold, place.waker),
            kind => kind.id().to_owned(),
        };
        rows.push(dictionary.attribute("dwell.waker", waker.as_str())?);
        rows.push(dictionary.attribute("dwell.idle", place.idle)?);
    }
    Ok(rows)
}

/// What was recorded: services are told apart by `service.name`, which is the program's.
fn resource(trace: &Trace) -> Resource {
    let manifest = &trace.manifest;
    let launched = manifest.command.first().and_then(|path| Path::new(path).file_name()?.to_str());
    let service = launched.or_else(|| trace.processes.name.first().map(|name| name.as_str())).unwrap_or_default();
    let command = manifest.command.join(" ");
    let known = [("service.name", service), ("process.command_line", &command), ("host.name", &manifest.host)];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    Resource { attributes: known.map(|(key, value)| KeyValue { key: key.into(), value: Some(value.into()) }).collect() }
}

/// As the format has numbers; ones that have no room in it, which no sound trace has, are the largest.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use dwell_analyze::Query;

    use super::message::{AnyValue, Link, OtlpLocation, OtlpMapping, ProfilesDictionary, Stack};
    use super::*;
    use crate::test_trace::two_threads;

    fn data() -> (ResourceProfiles, ProfilesDictionary) {
        let (trace, query) = (two_threads(), Query::default());
        let mut out = Vec::new();
        write(&Fold::new(&trace, &query).unwrap(), &mut out).unwrap();
        let mut data = ProfilesData::decode(out.as_slice()).unwrap();
        assert_eq!(data.resource_profiles.len(), 1);
        (data.resource_profiles.remove(0), data.dictionary.unwrap())
    }

    fn attribute(dictionary: &ProfilesDictionary, row: i32) -> (&str, AnyValue) {
        let attribute = &dictionary.attribute_table[row as usize];
        (&dictionary.string_table[attribute.key_strindex as usize], attribute.value.clone().unwrap())
    }

    #[test]
    fn each_profile_adds_up() {
        let (data, dictionary) = data();
        let text = |row: i32| dictionary.string_table[row as usize].as_str();
        let sum = |profile: &OtlpProfile| profile.samples.iter().flat_map(|sample| &sample.values).sum::<i64>();
        let told = data.scope_profiles[0].profiles.iter().map(|profile| {
            let kind = profile.sample_type.unwrap();
            (text(kind.type_strindex), text(kind.unit_strindex), sum(profile))
        });
        let expected = [("cpu", "nanoseconds", 5_000_000), ("wait", "nanoseconds", 3_000_000), ("waits", "count", 1)];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        let service = &data.resource.unwrap().attributes[0];
        assert_eq!((service.key.as_str(), service.value.clone()), ("service.name", Some("app".into())));
    }

    #[test]
    fn the_first_row_of_each_table_is_zero() {
        let (_, dictionary) = data();
        assert_eq!(dictionary.mapping_table[0], OtlpMapping::default());
        assert_eq!(dictionary.location_table[0], OtlpLocation::default());
        assert_eq!(dictionary.function_table[0], message::OtlpFunction::default());
        assert_eq!(dictionary.link_table, [Link { trace_id: vec![0; 16], span_id: vec![0; 8] }]);
        assert_eq!(dictionary.string_table[0], "");
        assert_eq!(dictionary.attribute_table[0], message::KeyValueAndUnit::default());
        assert_eq!(dictionary.stack_table[0], Stack::default());
    }

    #[test]
    fn a_wait_has_attributes_an_inlined_caller_and_a_build_id() {
        let (data, dictionary) = data();
        let text = |row: i32| dictionary.string_table[row as usize].as_str();
        let [sample] = data.scope_profiles[0].profiles[1].samples.as_slice() else { panic!("one wait") };
        let told: Vec<_> = sample.attribute_indices.iter().map(|row| attribute(&dictionary, *row)).collect();
        let expected = [
            ("thread.name", "work;er".into()),
            ("thread.id", 11.into()),
            ("dwell.object.name", "queue_lock".into()),
            ("dwell.object.type", "mutex".into()),
            ("dwell.waker", "main (10)".into()),
            ("dwell.idle", false.into()),
        ];
        assert_eq!(told, expected);
        let location = |row: &i32| &dictionary.location_table[*row as usize];
        let stack = &dictionary.stack_table[sample.stack_index as usize].location_indices;
        let name =
            |line: &message::OtlpLine| text(dictionary.function_table[line.function_index as usize].name_strindex);
        let names = |row: &i32| location(row).lines.iter().map(name).collect::<Vec<_>>();
        let told: Vec<Vec<&str>> = stack.iter().map(names).collect();
        assert_eq!(told, [vec!["pthread_mutex_lock"], vec!["push_item", "main"]]);
        let mapping = &dictionary.mapping_table[location(&stack[1]).mapping_index as usize];
        let build_id = attribute(&dictionary, mapping.attribute_indices[0]);
        assert_eq!(
            (text(mapping.filename_strindex), build_id),
            ("/bin/app", ("process.executable.build_id.gnu", "abcdef".into()))
        );
    }

    #[test]
    fn what_is_missing_is_told() {
        let (data, dictionary) = data();
        for profile in &data.scope_profiles[0].profiles {
            let (key, value) = attribute(&dictionary, profile.attribute_indices[0]);
            assert_eq!(key, "dwell.missing");
            assert!(value.string_value.unwrap().starts_with("lost: 7 "), "{profile:?}");
        }
    }
}
