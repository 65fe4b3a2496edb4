//! The profile as OpenTelemetry's collectors take it: OTLP's signal for profiles, which is experimental.
//!
//! It is made of what is in the file for [pprof](crate::pprof), and has the same stacks, sample types and labels. What
//! differs:
//!
//! - Each process is a resource of its own, with `process.pid` and `process.executable.name`, and not a label.
//! - Each sample type is a profile of its own. `delay` is the first, as viewers begin with that.
//! - Labels are attributes of samples. pprof's comments are an attribute of each profile.

mod proto;
#[cfg(test)]
mod tests;

use crate::pprof::form::{FOR_PROGRAMS, PROCESS};
use crate::pprof::proto as pprof;
use crate::profile::Profile;
use crate::words::program;
use indexmap::{IndexMap, IndexSet};
use ondeck_report::wording::{counted, plain};
use prost::Message;
use proto::{AnyValue, ArrayValue, KeyValue, KeyValueAndUnit, ValueType};
use std::hash::Hash;

/// The version of OTLP in which the messages were last changed.
pub const PROTOCOL: &str = "1.10";
/// Where collectors take profiles.
pub const PATH: &str = "/v1development/profiles";
/// Columns of pprof's samples in the order of our profiles: times before counts.
const ORDER: [usize; 8] = [1, 0, 3, 2, 5, 4, 7, 6];

/// What a profile does not know of where it comes from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The name of the service; that of the program if there is none.
    pub service: Option<String>,
    /// The name of the machine.
    pub host: Option<String>,
}

/// A message `ProfilesData`; what is sent to a collector has the same form.
pub fn write(profile: &Profile, origin: &Origin) -> Vec<u8> {
    let file = crate::pprof::file(profile);
    let mut writer = Writer { file: &file, strings: Table::new(), attributes: Table::new(), stacks: Table::new() };
    let resource_profiles = writer.processes().into_iter().map(|(process, sums)| proto::ResourceProfiles {
        resource: Some(proto::Resource { attributes: resource(profile, origin, process) }),
        scope_profiles: vec![proto::ScopeProfiles {
            scope: Some(proto::InstrumentationScope {
                name: "ondeck".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            profiles: writer.profiles(&sums),
        }],
    });
    let resource_profiles = resource_profiles.collect();
    proto::ProfilesData { resource_profiles, dictionary: Some(writer.dictionary()) }.encode_to_vec()
}

/// What a collector says against profiles that it has taken in part only; `None` if it took all, or if that is no answer of
/// a collector.
pub fn rejection(answer: &[u8]) -> Option<String> {
    let rejected = proto::ExportProfilesServiceResponse::decode(answer).ok()?.partial_success?;
    let n = usize::try_from(rejected.rejected_profiles).ok().filter(|n| *n > 0)?;
    Some(format!("{} rejected: {}", counted(n, "profile"), plain(&rejected.error_message)))
}

/// What is known of where a process ran.
fn resource(profile: &Profile, origin: &Origin, process: &str) -> Vec<KeyValue> {
    let pair = |key: &str, value| KeyValue { key: key.to_owned(), value: Some(value) };
    let service = origin.service.clone().unwrap_or_else(|| program(profile));
    let mut attributes = vec![pair("service.name", text(service))];
    attributes.extend(origin.host.iter().map(|host| pair("host.name", text(host.clone()))));
    let numbers = 0..profile.processes.len();
    if let Some(number) = numbers.into_iter().find(|number| profile.process_name(*number as u32) == process) {
        let found = &profile.processes[number];
        attributes.push(pair("process.pid", AnyValue { int_value: Some(found.pid.into()), ..AnyValue::default() }));
        let file = found.program.rsplit('/').next().unwrap_or_default();
        attributes.push(pair("process.executable.name", text(file.to_owned())));
    }
    attributes
}

fn text(text: String) -> AnyValue {
    AnyValue { string_value: Some(text), ..AnyValue::default() }
}

/// A table of the dictionary that grows: each item once, the empty one first.
struct Table<T>(IndexSet<T>);

impl<T: Default + Hash + Eq> Table<T> {
    fn new() -> Self {
        Table(IndexSet::from([T::default()]))
    }

    fn number(&mut self, item: T) -> i32 {
        self.0.insert_full(item).0 as i32
    }

    fn into_list(self) -> Vec<T> {
        self.0.into_iter().collect()
    }
}

/// By sample type: what each stack with its attributes adds up to.
type Sums = [IndexMap<(i32, Vec<i32>), i64>; ORDER.len()];

struct Writer<'f> {
    file: &'f pprof::Profile,
    strings: Table<String>,
    attributes: Table<KeyValueAndUnit>,
    stacks: Table<proto::Stack>,
}

impl<'f> Writer<'f> {
    /// A text of pprof's file.
    fn text(&self, number: i64) -> &'f str {
        &self.file.string_table[number as usize]
    }

    /// The number of the same text in the dictionary.
    fn string(&mut self, number: i64) -> i32 {
        self.strings.number(self.text(number).to_owned())
    }

    fn attribute(&mut self, key: &str, value: AnyValue) -> i32 {
        let key_strindex = self.strings.number(key.to_owned());
        self.attributes.number(KeyValueAndUnit { key_strindex, value: Some(value) })
    }

    /// The samples of each process; that of the lock which was waited for longest comes first.
    fn processes(&mut self) -> IndexMap<&'f str, Sums> {
        let mut processes: IndexMap<&str, Sums> = IndexMap::new();
        for sample in &self.file.sample {
            let (mut process, mut attribute_indices) = ("", Vec::new());
            for label in &sample.label {
                match (self.text(label.key), self.text(label.str)) {
                    (PROCESS, name) => process = name,
                    (key, value) => attribute_indices.push(self.attribute(key, text(value.to_owned()))),
                }
            }
            let location_indices = sample.location_id.iter().map(|id| *id as i32).collect();
            let identity = (self.stacks.number(proto::Stack { location_indices }), attribute_indices);
            let sums = processes.entry(process).or_default();
            for (sums, value) in sums.iter_mut().zip(&sample.value).filter(|(_, value)| **value != 0) {
                let sum = sums.entry(identity.clone()).or_default();
                *sum = sum.saturating_add(*value);
            }
        }
        processes
    }

    /// A profile for each sample type that there are samples of.
    fn profiles(&mut self, sums: &Sums) -> Vec<proto::Profile> {
        let shown = self.file.comment.iter().map(|comment| self.text(*comment));
        let comments = shown.filter(|comment| !comment.starts_with(FOR_PROGRAMS));
        let values = comments.map(|comment| text(comment.to_owned())).collect();
        let comments = AnyValue { array_value: Some(ArrayValue { values }), ..AnyValue::default() };
        let attribute_indices = vec![self.attribute("pprof.profile.comment", comments)];
        let period_type = self.file.period_type.as_ref().map(|period| self.value_type(period));
        let found = ORDER.into_iter().filter(|column| !sums[*column].is_empty());
        let profile = |column: usize| proto::Profile {
            sample_type: Some(self.value_type(&self.file.sample_type[column])),
            samples: sums[column].iter().map(sample).collect(),
            time_unix_nano: self.file.time_nanos.max(0) as u64,
            duration_nano: self.file.duration_nanos.max(0) as u64,
            period_type: period_type.clone(),
            period: self.file.period,
            attribute_indices: attribute_indices.clone(),
        };
        found.map(profile).collect()
    }

    fn value_type(&mut self, of: &pprof::ValueType) -> ValueType {
        ValueType { type_strindex: self.string(of.r#type), unit_strindex: self.string(of.unit) }
    }

    /// pprof counts locations, functions and mappings from 1, so they keep their numbers behind the empty one.
    fn dictionary(mut self) -> proto::ProfilesDictionary {
        let file = self.file;
        let mappings = file.mapping.iter().map(|mapping| self.mapping(mapping)).collect();
        let function = |function: &pprof::Function| proto::Function {
            name_strindex: self.string(function.name),
            filename_strindex: self.string(function.filename),
        };
        let functions = file.function.iter().map(function).collect();
        proto::ProfilesDictionary {
            mapping_table: behind_empty(mappings),
            location_table: behind_empty(file.location.iter().map(location).collect()),
            function_table: behind_empty(functions),
            link_table: vec![proto::Link { trace_id: vec![0; 16], span_id: vec![0; 8] }],
            string_table: self.strings.into_list(),
            attribute_table: self.attributes.into_list(),
            stack_table: self.stacks.into_list(),
        }
    }

    fn mapping(&mut self, mapping: &pprof::Mapping) -> proto::Mapping {
        let build_id = Some(self.text(mapping.build_id)).filter(|id| !id.is_empty());
        let build_id = build_id.map(|id| self.attribute("process.executable.build_id.gnu", text(id.to_owned())));
        proto::Mapping {
            memory_limit: mapping.memory_limit,
            filename_strindex: self.string(mapping.filename),
            attribute_indices: build_id.into_iter().collect(),
        }
    }
}

fn behind_empty<T: Default>(mut items: Vec<T>) -> Vec<T> {
    items.insert(0, T::default());
    items
}

fn sample((identity, value): (&(i32, Vec<i32>), &i64)) -> proto::Sample {
    proto::Sample { stack_index: identity.0, attribute_indices: identity.1.clone(), values: vec![*value] }
}

fn location(location: &pprof::Location) -> proto::Location {
    let line = |line: &pprof::Line| proto::Line { function_index: line.function_id as i32, line: line.line };
    proto::Location {
        mapping_index: location.mapping_id as i32,
        address: location.address,
        lines: location.line.iter().map(line).collect(),
    }
}
