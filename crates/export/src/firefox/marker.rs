//! The markers: waits, and what the program announced.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, Profile, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle,
};

const fn text(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    StaticSchemaMarkerField { key, label, format: MarkerFieldFormat::String, flags: MarkerFieldFlags::SEARCHABLE }
}

/// A wait for an object.
#[derive(Clone, Debug)]
pub struct WaitMarker {
    /// Of waiting.
    pub category: CategoryHandle,
    /// Name of the object, which is the marker's.
    pub object: StringHandle,
    /// Type, outcome and waker, in the order of the fields.
    pub fields: [StringHandle; 3],
}

impl StaticSchemaMarker for WaitMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "DwellWait";
    const DESCRIPTION: Option<&'static str> = Some("A wait: the thread was off the CPU until somebody woke it.");
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.kind} {marker.name}, woken by {marker.data.waker}");
    const FIELDS: &'static [StaticSchemaMarkerField] =
        &[text("kind", "Object type"), text("outcome", "Outcome"), text("waker", "Woken by")];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.object
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        self.fields[(field as usize).min(self.fields.len() - 1)]
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0 // no field is a number
    }
}

/// A task, region, frame or event of the program, or an instant that it marked.
#[derive(Clone, Debug)]
pub struct TaskMarker {
    /// Its name.
    pub name: StringHandle,
    /// What it is: task, frame, …
    pub kind: StringHandle,
}

impl StaticSchemaMarker for TaskMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "DwellTask";
    const DESCRIPTION: Option<&'static str> = Some("What the program said that it did, through ITT or probes.");
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.kind} {marker.name}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[text("kind", "Kind")];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.kind
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0 // no field is a number
    }
}
