//! The message in the hands of OTLP's own definitions.

use super::{Origin, rejection, write};
use crate::pprof::form::SAMPLE_TYPES;
use crate::profile::Profile;
use crate::rows::{Row, Side, functions, of_side, of_takers, with_rest};
use crate::sample::toy;
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesPartialSuccess, ExportProfilesServiceRequest, ExportProfilesServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::profiles::v1development::{ProfilesDictionary, Sample, ValueType};
use prost::Message;
use std::collections::BTreeMap;

/// Functions of a stack, the innermost first, and the name of the lock or condition variable.
type Place = (Vec<String>, String);
/// By process, and by sample type: what each place adds up to.
type Told = BTreeMap<i64, BTreeMap<(String, String), BTreeMap<Place, i64>>>;

fn decoded(profile: &Profile) -> (ExportProfilesServiceRequest, ProfilesDictionary) {
    let origin = Origin { service: None, host: Some("here".to_owned()) };
    let request = ExportProfilesServiceRequest::decode(&write(profile, &origin)[..]).unwrap();
    let dictionary = request.dictionary.clone().unwrap();
    (request, dictionary)
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

fn string(dictionary: &ProfilesDictionary, number: i32) -> String {
    dictionary.string_table[number as usize].clone()
}

fn kind(dictionary: &ProfilesDictionary, of: Option<&ValueType>) -> (String, String) {
    let of = of.unwrap();
    (string(dictionary, of.type_strindex), string(dictionary, of.unit_strindex))
}

fn attributes(dictionary: &ProfilesDictionary, numbers: &[i32]) -> BTreeMap<String, String> {
    let attribute = |number: &i32| {
        let pair = &dictionary.attribute_table[*number as usize];
        (string(dictionary, pair.key_strindex), text(pair.value.as_ref()))
    };
    numbers.iter().map(attribute).collect()
}

fn place(dictionary: &ProfilesDictionary, sample: &Sample) -> Place {
    let stack = &dictionary.stack_table[sample.stack_index as usize];
    let lines = stack.location_indices.iter().flat_map(|number| &dictionary.location_table[*number as usize].lines);
    let name = |number: i32| string(dictionary, dictionary.function_table[number as usize].name_strindex);
    let found = attributes(dictionary, &sample.attribute_indices);
    let whose = found.get("lock").or(found.get("condition")).unwrap_or_else(|| panic!("no lock: {found:?}"));
    (lines.map(|line| name(line.function_index)).collect(), whose.clone())
}

fn pid(attributes: &[KeyValue]) -> i64 {
    let pair = attributes.iter().find(|pair| pair.key == "process.pid").unwrap();
    match pair.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::IntValue(pid)) => *pid,
        other => panic!("{other:?} is no number"),
    }
}

fn told(profile: &Profile) -> Told {
    let (request, dictionary) = decoded(profile);
    let mut told = Told::new();
    for resource in &request.resource_profiles {
        let of_process = told.entry(pid(&resource.resource.as_ref().unwrap().attributes)).or_default();
        for profile in &resource.scope_profiles[0].profiles {
            let sums = of_process.entry(kind(&dictionary, profile.sample_type.as_ref())).or_default();
            for sample in &profile.samples {
                assert_eq!(sample.values.len(), 1);
                *sums.entry(place(&dictionary, sample)).or_default() += sample.values[0];
            }
        }
    }
    told
}

/// The same of the profile itself.
fn expected(profile: &Profile) -> Told {
    let mut told = Told::new();
    let mut add = |process: u32, column: usize, name: &str, rows: Vec<Row>| {
        for row in rows {
            let place = (functions(profile, row.place), name.to_owned());
            let of_process = told.entry(profile.processes[process as usize].pid.into()).or_default();
            for (kind, value) in
                SAMPLE_TYPES[column..].iter().zip([row.count, row.ns]).filter(|(_, value)| *value > 0.0)
            {
                let sums = of_process.entry((kind.0.to_owned(), kind.1.to_owned())).or_default();
                *sums.entry(place.clone()).or_default() += value.round() as i64;
            }
        }
    };
    for lock in &profile.locks {
        add(lock.process, 0, &lock.name, of_side(lock, Side::Waiters));
        add(lock.process, 2, &lock.name, of_side(lock, Side::Holders));
        add(lock.process, 4, &lock.name, of_takers(lock));
    }
    for condition in &profile.conditions {
        let rows = with_rest(&condition.waiters, condition.waits, condition.wait_ns);
        add(condition.process, 6, &condition.name, rows);
    }
    told
}

#[test]
fn stacks_values_and_units_are_those_of_the_profile() {
    let mut profile = toy();
    // Whole numbers, so that nothing is rounded.
    profile.locks[1].waits = 15.0;
    profile.locks[1].waiters[0].count = 13.0;
    profile.locks[1].holders[0].count = 13.0;
    let (told, expected) = (told(&profile), expected(&profile));
    assert_eq!(told, expected);
    let total = |kind: &str| -> i64 {
        let kind = (kind.to_owned(), "nanoseconds".to_owned());
        told.values().filter_map(|of| of.get(&kind)).flat_map(|sums| sums.values()).sum()
    };
    let waited: f64 = profile.locks.iter().map(|lock| lock.wait_ns).sum();
    assert_eq!((total("delay"), total("held_delay")), (waited as i64, waited as i64));
}

#[test]
fn what_a_process_is_stands_in_its_resource() {
    let (request, _) = decoded(&toy());
    let attributes = &request.resource_profiles[1].resource.as_ref().unwrap().attributes;
    let of = |key: &str| text(attributes.iter().find(|pair| pair.key == key).unwrap().value.as_ref());
    let found = ["service.name", "host.name", "process.executable.name"].map(of);
    assert_eq!((found, pid(attributes)), (["server", "here", "child"].map(str::to_owned), 101));
    let origin = Origin { service: Some("shop".to_owned()), host: None };
    let request = ExportProfilesServiceRequest::decode(&write(&toy(), &origin)[..]).unwrap();
    let attributes = &request.resource_profiles[0].resource.as_ref().unwrap().attributes;
    assert_eq!((text(attributes[0].value.as_ref()).as_str(), attributes.len()), ("shop", 3));
}

/// Viewers show the first profile of the first resource.
#[test]
fn the_first_profile_has_the_waiting_and_says_how_it_was_made() {
    let (request, dictionary) = decoded(&toy());
    let first = &request.resource_profiles[0].scope_profiles[0].profiles[0];
    assert_eq!(kind(&dictionary, first.sample_type.as_ref()).0, "delay");
    assert_eq!(kind(&dictionary, first.period_type.as_ref()), ("acquisitions".to_owned(), "count".to_owned()));
    assert_eq!(
        (first.period, first.duration_nano, first.time_unix_nano),
        (16, 2_000_000_000, 1_700_000_000_500_000_000)
    );
    let comments = &dictionary.attribute_table[first.attribute_indices[0] as usize];
    assert_eq!(string(&dictionary, comments.key_strindex), "pprof.profile.comment");
    let Some(Value::ArrayValue(list)) = comments.value.as_ref().and_then(|value| value.value.as_ref()) else {
        panic!("{comments:?}")
    };
    let comments: Vec<String> = list.values.iter().map(|value| text(Some(value))).collect();
    assert!(comments.contains(&"Rate: 1 of 16 acquisitions".to_owned()), "{comments:?}");
    assert!(!comments.iter().any(|comment| comment.starts_with('#')), "{comments:?}");
}

/// The first item of each table is the empty one, none stands there twice, and inlined functions share a location.
#[test]
fn the_dictionary_is_as_the_protocol_wants_it() {
    let (request, dictionary) = decoded(&toy());
    let ProfilesDictionary { mapping_table, location_table, function_table, link_table, .. } = &dictionary;
    assert_eq!((mapping_table[0].clone(), location_table[0].clone()), Default::default());
    assert_eq!((function_table[0], dictionary.attribute_table[0].clone()), Default::default());
    assert_eq!((dictionary.stack_table[0].clone(), dictionary.string_table[0].clone()), Default::default());
    assert_eq!(link_table.iter().map(|link| (link.trace_id.len(), link.span_id.len())).collect::<Vec<_>>(), [(16, 8)]);
    let strings: std::collections::BTreeSet<&String> = dictionary.string_table.iter().collect();
    assert_eq!(strings.len(), dictionary.string_table.len());
    let inlined = location_table.iter().find(|location| location.lines.len() == 2).unwrap();
    let mapping = &mapping_table[inlined.mapping_index as usize];
    assert_eq!(string(&dictionary, mapping.filename_strindex), "/usr/bin/server");
    let expected = "00112233445566778899aabbccddeeff00112233";
    let found = attributes(&dictionary, &mapping.attribute_indices);
    assert_eq!(found.get("process.executable.build_id.gnu").map(String::as_str), Some(expected));
    assert!(inlined.address > 0 && mapping.memory_limit > inlined.address);
    for sample in request.resource_profiles[0].scope_profiles.iter().flat_map(|scope| &scope.profiles[0].samples) {
        assert!(sample.stack_index > 0 && sample.attribute_indices.iter().all(|number| *number > 0), "{sample:?}");
    }
}

#[test]
fn a_part_that_was_rejected_is_told() {
    let answer = |rejected_profiles| {
        let partial = ExportProfilesPartialSuccess { rejected_profiles, error_message: "too\nold".to_owned() };
        ExportProfilesServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    };
    assert_eq!(rejection(&answer(2)).as_deref(), Some("2 profiles rejected: too old"));
    assert_eq!((rejection(&answer(0)), rejection(b""), rejection(b"{}")), (None, None, None));
}
