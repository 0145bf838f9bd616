//! The table of what tasks and markers are called.

use std::collections::HashMap;

use dwell_model::{TaskKind, TaskTypeId};
use dwell_store::ProbeDefinition;
use dwell_store::tables::{TaskTypeRow, TaskTypes};

use crate::input::annotation_event::{Scope, TaskName};
use crate::input::texts::Texts;
use crate::replay::annotations::TypeKey;
use crate::replay::numbers::TypeNumber;
use crate::row_of::RowOf;

/// Where the names of types are found.
pub struct TypeNames<'a> {
    /// What programs wrote.
    pub texts: &'a Texts,
    /// Probes with values.
    pub hits: &'a [ProbeDefinition],
    /// Names of the task probes.
    pub probes: &'a [String],
    /// For each type, its function's name where it is named by a function that has one.
    pub functions: &'a [Option<String>],
}

impl TypeNames<'_> {
    /// Domain and name.
    fn of(&self, number: usize, key: &TypeKey) -> (String, String) {
        let what = match key.kind {
            TaskKind::Unknown | TaskKind::Task | TaskKind::Overlapped => "task",
            other => other.id(),
        };
        let domain = match key.scope {
            Scope::Domain(domain) => self.texts.show(domain, "domain"),
            Scope::Probe(probe) => {
                let probe = usize::from(probe);
                let name = if key.kind == TaskKind::ProbeHit {
                    self.hits.get(probe).map(|probe| probe.name.clone())
                } else {
                    self.probes.get(probe).cloned()
                };
                return (String::new(), name.unwrap_or_else(|| format!("unknown {what}")));
            }
        };
        let name = match key.name {
            TaskName::Text(name) => self.texts.show(name, what),
            TaskName::Function(address) => {
                let function = self.functions.get(number).cloned().flatten();
                function.unwrap_or_else(|| format!("[unknown]+{address:#x}"))
            }
        };
        (domain, name)
    }
}

/// The table, and the row of each type: equal names are one.
pub fn type_table(types: &[TypeKey], names: &TypeNames<'_>) -> (TaskTypes, RowOf<TypeNumber, TaskTypeId>) {
    let mut table = TaskTypes::default();
    let mut rows = HashMap::new();
    let ids = types.iter().enumerate().map(|(number, key)| {
        let (domain, name) = names.of(number, key);
        let kind = key.kind.code();
        *rows
            .entry((kind, domain.clone(), name.clone()))
            .or_insert_with(|| TaskTypeId::new(table.push(TaskTypeRow { kind, domain, name })))
    });
    let ids = ids.collect();
    (table, ids)
}
