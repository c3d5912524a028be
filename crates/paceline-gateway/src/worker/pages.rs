//! Pages: what they show is gathered here.

use paceline_io::http1::Head;

use crate::pages::Page;
use crate::shared::Shared;

pub(super) fn page(_shared: &Shared, _head: &Head, path: &str, _query: &str, _admin: bool) -> Page {
    Page {
        status: if path.ends_with("z") { 200 } else { 404 },
        content_type: "text/plain",
        headers: vec![],
        body: b"ok".to_vec(),
    }
}

pub(crate) fn stats(_shared: &Shared) -> serde_json::Value {
    serde_json::json!({})
}
