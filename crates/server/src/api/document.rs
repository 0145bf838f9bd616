//! A finished JSON document, as it is kept and answered.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};

/// A finished JSON document.
pub struct Document(pub Arc<Vec<u8>>);

/// A document that is not kept.
pub fn made(text: String) -> Document {
    Document(Arc::new(text.into_bytes()))
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        ([("content-type", "application/json")], Body::from(self.0.as_slice().to_vec())).into_response()
    }
}
