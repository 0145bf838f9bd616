//! The tables that profiles refer to by index. Code and texts are the rows that pprof's profile has, whose ids count from 1, too.

use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};

use dwell_analyze::Fold;
use dwell_model::StackId;

use super::message::{
    AnyValue, KeyValueAndUnit, Link, OtlpFunction, OtlpLine, OtlpLocation, OtlpMapping, OtlpValueType,
    ProfilesDictionary, Stack,
};
use crate::pprof::code_rows::CodeRows;
use crate::pprof::message as pprof;
use crate::pprof::string_rows::StringRows;

/// The name that OpenTelemetry's semantic conventions have for a build id in `.note.gnu.build-id`.
const BUILD_ID: &str = "process.executable.build_id.gnu";
/// Bytes of a trace's and a span's id.
const LINK_BYTES: (usize, usize) = (16, 8);

/// The tables so far.
#[derive(Debug)]
pub struct Dictionary {
    strings: StringRows,
    code: CodeRows,
    stacks: Vec<Stack>,
    /// Row by locations.
    stack_rows: HashMap<Vec<u64>, i32>,
    attributes: Vec<KeyValueAndUnit>,
    /// Row by attribute.
    attribute_rows: HashMap<KeyValueAndUnit, i32>,
}

impl Default for Dictionary {
    /// With the row 0 of stacks and attributes.
    fn default() -> Self {
        Self {
            strings: StringRows::default(),
            code: CodeRows::default(),
            stacks: vec![Stack::default()],
            stack_rows: HashMap::new(),
            attributes: vec![KeyValueAndUnit::default()],
            attribute_rows: HashMap::new(),
        }
    }
}

impl Dictionary {
    /// The row of what the query shows of `stack`.
    pub fn stack(&mut self, fold: &Fold<'_>, stack: StackId) -> Result<i32> {
        let locations = self.code.stack(fold, stack, &mut self.strings);
        if let Some(known) = self.stack_rows.get(&locations) {
            return Ok(*known);
        }
        let row = table_row(self.stacks.len())?;
        let location_indices = locations.iter().map(|id| table_row(*id)).collect::<Result<_>>()?;
        self.stacks.push(Stack { location_indices });
        self.stack_rows.insert(locations, row);
        Ok(row)
    }

    /// The row of an attribute.
    pub fn attribute(&mut self, key: &str, value: impl Into<AnyValue>) -> Result<i32> {
        let attribute = KeyValueAndUnit { key_strindex: self.string(key)?, value: Some(value.into()) };
        if let Some(known) = self.attribute_rows.get(&attribute) {
            return Ok(*known);
        }
        let row = table_row(self.attributes.len())?;
        self.attributes.push(attribute.clone());
        self.attribute_rows.insert(attribute, row);
        Ok(row)
    }

    /// What values are, and their unit.
    pub fn value_type(&mut self, (kind, unit): (&str, &str)) -> Result<OtlpValueType> {
        Ok(OtlpValueType { type_strindex: self.string(kind)?, unit_strindex: self.string(unit)? })
    }

    fn string(&mut self, text: &str) -> Result<i32> {
        table_row(self.strings.row(text))
    }

    /// All of it.
    pub fn finish(mut self) -> Result<ProfilesDictionary> {
        let code = std::mem::take(&mut self.code).finish();
        let mut mapping_table = vec![OtlpMapping::default()];
        for mapping in &code.mapping {
            mapping_table.push(self.mapping(*mapping)?);
        }
        let locations = code.location.iter().map(location);
        let functions = code.function.iter().map(function);
        Ok(ProfilesDictionary {
            mapping_table,
            location_table: with_row_zero(locations)?,
            function_table: with_row_zero(functions)?,
            link_table: vec![Link { trace_id: vec![0; LINK_BYTES.0], span_id: vec![0; LINK_BYTES.1] }],
            string_table: self.strings.finish(),
            attribute_table: self.attributes,
            stack_table: self.stacks,
        })
    }

    fn mapping(&mut self, mapping: pprof::Mapping) -> Result<OtlpMapping> {
        let build_id = self.strings.text(mapping.build_id).to_owned();
        let known = Some(build_id.as_str()).filter(|build_id| !build_id.is_empty());
        Ok(OtlpMapping {
            memory_start: mapping.memory_start,
            memory_limit: mapping.memory_limit,
            filename_strindex: table_row(mapping.filename)?,
            attribute_indices: known
                .map(|build_id| self.attribute(BUILD_ID, build_id))
                .transpose()?
                .into_iter()
                .collect(),
        })
    }
}

fn location(location: &pprof::Location) -> Result<OtlpLocation> {
    let line = |line: &pprof::Line| Ok(OtlpLine { function_index: table_row(line.function_id)?, line: line.line });
    Ok(OtlpLocation {
        mapping_index: table_row(location.mapping_id)?,
        address: location.address,
        lines: location.line.iter().map(line).collect::<Result<_>>()?,
    })
}

fn function(function: &pprof::Function) -> Result<OtlpFunction> {
    Ok(OtlpFunction {
        name_strindex: table_row(function.name)?,
        system_name_strindex: table_row(function.system_name)?,
        filename_strindex: table_row(function.filename)?,
    })
}

/// A table, whose row 0 has nothing but zeros.
fn with_row_zero<Row: Default>(rows: impl Iterator<Item = Result<Row>>) -> Result<Vec<Row>> {
    std::iter::once(Ok(Row::default())).chain(rows).collect()
}

/// A row as the format has it. Fails where a table has more than 2^31 rows.
fn table_row(row: impl TryInto<i32>) -> Result<i32> {
    let too_large = "a table has more than 2^31 rows, which this format has no numbers for";
    row.try_into().map_err(|_| Error::new(ErrorKind::FileTooLarge, too_large))
}
