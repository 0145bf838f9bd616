//! The messages of OpenTelemetry's `profiles.proto`, `common.proto` and `resource.proto`, as far as Dwell writes them. Field numbers
//! and names are those of release 1.11.0, package `opentelemetry.proto.profiles.v1development`:
//! <https://github.com/open-telemetry/opentelemetry-proto/blob/v1.11.0/opentelemetry/proto/profiles/v1development/profiles.proto>.
//!
//! An index is a row of a table of the dictionary. Row 0 of each table has nothing but zeros, so that index 0 says: none.

/// A file, and the body of a request to a collector, whose message has the same fields. Messages that are written one after the other
/// are read as one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProfilesData {
    #[prost(message, repeated, tag = "1")]
    pub resource_profiles: Vec<ResourceProfiles>,
    #[prost(message, optional, tag = "2")]
    pub dictionary: Option<ProfilesDictionary>,
}

/// What all profiles refer to by index.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProfilesDictionary {
    #[prost(message, repeated, tag = "1")]
    pub mapping_table: Vec<OtlpMapping>,
    #[prost(message, repeated, tag = "2")]
    pub location_table: Vec<OtlpLocation>,
    #[prost(message, repeated, tag = "3")]
    pub function_table: Vec<OtlpFunction>,
    #[prost(message, repeated, tag = "4")]
    pub link_table: Vec<Link>,
    #[prost(string, repeated, tag = "5")]
    pub string_table: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub attribute_table: Vec<KeyValueAndUnit>,
    #[prost(message, repeated, tag = "7")]
    pub stack_table: Vec<Stack>,
}

/// The profiles of one program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceProfiles {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_profiles: Vec<ScopeProfiles>,
}

/// What was profiled.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// The profiles that one tool made.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScopeProfiles {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<OtlpProfile>,
}

/// The tool.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InstrumentationScope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

/// Samples with values of one type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OtlpProfile {
    #[prost(message, optional, tag = "1")]
    pub sample_type: Option<OtlpValueType>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<OtlpSample>,
    #[prost(fixed64, tag = "3")]
    pub time_unix_nano: u64,
    #[prost(uint64, tag = "4")]
    pub duration_nano: u64,
    #[prost(message, optional, tag = "5")]
    pub period_type: Option<OtlpValueType>,
    #[prost(int64, tag = "6")]
    pub period: i64,
    #[prost(int32, repeated, tag = "11")]
    pub attribute_indices: Vec<i32>,
}

/// What a value is, and its unit.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct OtlpValueType {
    #[prost(int32, tag = "1")]
    pub type_strindex: i32,
    #[prost(int32, tag = "2")]
    pub unit_strindex: i32,
}

/// A stack with attributes, and the sum of its values. No two samples of a profile have the same stack and attributes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OtlpSample {
    #[prost(int32, tag = "1")]
    pub stack_index: i32,
    #[prost(int32, repeated, tag = "2")]
    pub attribute_indices: Vec<i32>,
    #[prost(int64, repeated, tag = "4")]
    pub values: Vec<i64>,
}

/// A span of a trace: Dwell has none.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Link {
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
}

/// A file that code is from.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OtlpMapping {
    #[prost(uint64, tag = "1")]
    pub memory_start: u64,
    #[prost(uint64, tag = "2")]
    pub memory_limit: u64,
    #[prost(int32, tag = "4")]
    pub filename_strindex: i32,
    #[prost(int32, repeated, tag = "5")]
    pub attribute_indices: Vec<i32>,
}

/// Locations, leaf first.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Stack {
    #[prost(int32, repeated, tag = "1")]
    pub location_indices: Vec<i32>,
}

/// An address; of its lines each but the last is inlined into the next.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OtlpLocation {
    #[prost(int32, tag = "1")]
    pub mapping_index: i32,
    #[prost(uint64, tag = "2")]
    pub address: u64,
    #[prost(message, repeated, tag = "3")]
    pub lines: Vec<OtlpLine>,
}

/// A function, at a line of its file.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct OtlpLine {
    #[prost(int32, tag = "1")]
    pub function_index: i32,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function of a file.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct OtlpFunction {
    #[prost(int32, tag = "1")]
    pub name_strindex: i32,
    #[prost(int32, tag = "2")]
    pub system_name_strindex: i32,
    #[prost(int32, tag = "3")]
    pub filename_strindex: i32,
}

/// An attribute of a profile, sample or mapping.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct KeyValueAndUnit {
    #[prost(int32, tag = "1")]
    pub key_strindex: i32,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// An attribute of a resource.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// One of these is there.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AnyValue {
    #[prost(string, optional, tag = "1")]
    pub string_value: Option<String>,
    #[prost(bool, optional, tag = "2")]
    pub bool_value: Option<bool>,
    #[prost(int64, optional, tag = "3")]
    pub int_value: Option<i64>,
}

impl From<&str> for AnyValue {
    fn from(text: &str) -> Self {
        Self { string_value: Some(text.to_owned()), ..Self::default() }
    }
}

impl From<bool> for AnyValue {
    fn from(value: bool) -> Self {
        Self { bool_value: Some(value), ..Self::default() }
    }
}

impl From<u32> for AnyValue {
    fn from(number: u32) -> Self {
        Self { int_value: Some(number.into()), ..Self::default() }
    }
}
