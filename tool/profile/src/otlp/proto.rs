//! The messages of OTLP that profiles need. Numbers and meaning of the fields are those of version 1.10 in
//! <https://github.com/open-telemetry/opentelemetry-proto>, where they are under the Apache License 2.0. Strings, stacks and
//! the like are numbers of places in the dictionary's tables, of which the first item is the empty one.

use crate::pprof::proto::messages;
use prost::Message;

messages! {
    /// All that is sent, or in a file.
    ProfilesData {
        resource_profiles: Vec<ResourceProfiles> = 1 [message, repeated],
        dictionary: Option<ProfilesDictionary> = 2 [message, optional],
    }
    ProfilesDictionary {
        mapping_table: Vec<Mapping> = 1 [message, repeated],
        location_table: Vec<Location> = 2 [message, repeated],
        function_table: Vec<Function> = 3 [message, repeated],
        link_table: Vec<Link> = 4 [message, repeated],
        string_table: Vec<String> = 5 [string, repeated],
        attribute_table: Vec<KeyValueAndUnit> = 6 [message, repeated],
        stack_table: Vec<Stack> = 7 [message, repeated],
    }
    ResourceProfiles {
        resource: Option<Resource> = 1 [message, optional],
        scope_profiles: Vec<ScopeProfiles> = 2 [message, repeated],
    }
    Resource {
        attributes: Vec<KeyValue> = 1 [message, repeated],
    }
    ScopeProfiles {
        scope: Option<InstrumentationScope> = 1 [message, optional],
        profiles: Vec<Profile> = 2 [message, repeated],
    }
    InstrumentationScope {
        name: String = 1 [string],
        version: String = 2 [string],
    }
    /// Values of one type.
    Profile {
        sample_type: Option<ValueType> = 1 [message, optional],
        samples: Vec<Sample> = 2 [message, repeated],
        time_unix_nano: u64 = 3 [fixed64],
        duration_nano: u64 = 4 [uint64],
        period_type: Option<ValueType> = 5 [message, optional],
        period: i64 = 6 [int64],
        attribute_indices: Vec<i32> = 11 [int32, repeated],
    }
    Link {
        trace_id: Vec<u8> = 1 [bytes],
        span_id: Vec<u8> = 2 [bytes],
    }
    ValueType {
        type_strindex: i32 = 1 [int32],
        unit_strindex: i32 = 2 [int32],
    }
    Sample {
        stack_index: i32 = 1 [int32],
        attribute_indices: Vec<i32> = 2 [int32, repeated],
        values: Vec<i64> = 4 [int64, repeated],
    }
    Mapping {
        memory_limit: u64 = 2 [uint64],
        filename_strindex: i32 = 4 [int32],
        attribute_indices: Vec<i32> = 5 [int32, repeated],
    }
    /// The innermost location first.
    Stack {
        location_indices: Vec<i32> = 1 [int32, repeated],
    }
    /// An address, with a line for each function that it is in: the one that was inlined into the others first.
    Location {
        mapping_index: i32 = 1 [int32],
        address: u64 = 2 [uint64],
        lines: Vec<Line> = 3 [message, repeated],
    }
    Line {
        function_index: i32 = 1 [int32],
        line: i64 = 2 [int64],
    }
    Function {
        name_strindex: i32 = 1 [int32],
        filename_strindex: i32 = 3 [int32],
    }
    KeyValueAndUnit {
        key_strindex: i32 = 1 [int32],
        value: Option<AnyValue> = 2 [message, optional],
    }
    KeyValue {
        key: String = 1 [string],
        value: Option<AnyValue> = 2 [message, optional],
    }
    /// One of these.
    AnyValue {
        string_value: Option<String> = 1 [string, optional],
        int_value: Option<i64> = 3 [int64, optional],
        array_value: Option<ArrayValue> = 5 [message, optional],
    }
    ArrayValue {
        values: Vec<AnyValue> = 1 [message, repeated],
    }
    /// What a collector answers.
    ExportProfilesServiceResponse {
        partial_success: Option<ExportProfilesPartialSuccess> = 1 [message, optional],
    }
    ExportProfilesPartialSuccess {
        rejected_profiles: i64 = 1 [int64],
        error_message: String = 2 [string],
    }
}
