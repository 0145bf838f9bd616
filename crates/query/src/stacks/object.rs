//! Types of objects.

use dwell_model::{ObjectId, ObjectType};
use dwell_store::Trace;

/// Type of an object of the trace.
pub fn object_type(trace: &Trace, object: ObjectId) -> ObjectType {
    let code = object.get().and_then(|row| trace.objects.kind.get(row)).copied();
    ObjectType::from_code(code.unwrap_or(0))
}
