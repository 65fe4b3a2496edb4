//! The messages of pprof's files. Numbers and meaning of the fields are those of `profile.proto` as published in
//! <https://github.com/google/pprof>, where they are under the Apache License 2.0. Texts are numbers of strings in a table,
//! of which the first is empty.

use prost::Message;

/// Messages of these names: each field with its type here, its number, and how it is written.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $tag:tt [$($kind:tt)*],)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq, Message)]
            pub(crate) struct $name {
                $(#[prost($($kind)*, tag = $tag)] pub(crate) $field: $type,)*
            }
        )*
    };
}

messages! {
    Profile {
        sample_type: Vec<ValueType> = 1 [message, repeated],
        sample: Vec<Sample> = 2 [message, repeated],
        mapping: Vec<Mapping> = 3 [message, repeated],
        location: Vec<Location> = 4 [message, repeated],
        function: Vec<Function> = 5 [message, repeated],
        string_table: Vec<String> = 6 [string, repeated],
        time_nanos: i64 = 9 [int64],
        duration_nanos: i64 = 10 [int64],
        period_type: Option<ValueType> = 11 [message, optional],
        period: i64 = 12 [int64],
        comment: Vec<i64> = 13 [int64, repeated],
        default_sample_type: i64 = 14 [int64],
    }
    ValueType {
        r#type: i64 = 1 [int64],
        unit: i64 = 2 [int64],
    }
    /// A stack, the innermost location first, with one value for each sample type.
    Sample {
        location_id: Vec<u64> = 1 [uint64, repeated],
        value: Vec<i64> = 2 [int64, repeated],
        label: Vec<Label> = 3 [message, repeated],
    }
    Label {
        key: i64 = 1 [int64],
        str: i64 = 2 [int64],
    }
    Mapping {
        id: u64 = 1 [uint64],
        memory_limit: u64 = 3 [uint64],
        filename: i64 = 5 [int64],
        build_id: i64 = 6 [int64],
        has_functions: bool = 7 [bool],
        has_filenames: bool = 8 [bool],
        has_line_numbers: bool = 9 [bool],
        has_inline_frames: bool = 10 [bool],
    }
    /// An address, with a line for each function that it is in: the one that was inlined into the others first.
    Location {
        id: u64 = 1 [uint64],
        mapping_id: u64 = 2 [uint64],
        address: u64 = 3 [uint64],
        line: Vec<Line> = 4 [message, repeated],
    }
    Line {
        function_id: u64 = 1 [uint64],
        line: i64 = 2 [int64],
    }
    Function {
        id: u64 = 1 [uint64],
        name: i64 = 2 [int64],
        filename: i64 = 4 [int64],
    }
}
