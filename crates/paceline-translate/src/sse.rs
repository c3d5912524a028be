//! Events of a stream, framed.

use crate::json::Json;

/// An event without a name, as chat has them.
pub(crate) fn data(document: &Json<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    document.write(out);
    out.extend_from_slice(b"\n\n");
}

/// An event that is named after its type, as the messages protocol has them.
pub(crate) fn named(kind: &'static str, fields: Vec<(&'static str, Json<'_>)>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(kind.as_bytes());
    out.push(b'\n');
    let mut all = Vec::with_capacity(fields.len() + 1);
    all.push(("type", Json::from(kind)));
    all.extend(fields);
    data(&Json::Object(all), out);
}
