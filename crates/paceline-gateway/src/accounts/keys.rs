//! Who asks. The table has only the SHA-256 of each key, and so a lookup by it tells an attacker nothing: whoever can
//! choose the hash that is looked up has the key.

use std::sync::Arc;

use ring::digest::{SHA256, digest};

use crate::refusal::Refusal;
use crate::table::{Key, RouteTable};

/// The key that was presented (without `Bearer `). Where the table requires none, a request without one is let in, and so
/// is one with a key that is not known, as if it had none: clients' SDKs insist on sending some key. A key that is known
/// and has expired is refused in any case.
pub(crate) fn authenticate(
    table: &RouteTable,
    presented: Option<&str>,
    unix_s: i64,
) -> Result<Option<Arc<Key>>, Refusal> {
    let presented = presented.map(str::trim).filter(|key| !key.is_empty());
    let key = presented.and_then(|presented| {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, presented.as_bytes()).as_ref());
        table.key(&hash)
    });
    match key {
        Some(key) if key.expires_unix_s.is_some_and(|expires| unix_s >= expires) => {
            Err(Refusal::invalid_api_key("The key has expired. `paceline keys create` makes another."))
        }
        Some(key) => Ok(Some(Arc::clone(key))),
        None if !table.require_key => Ok(None),
        None if presented.is_none() => Err(Refusal::invalid_api_key(
            "No key was sent: send it as `Authorization: Bearer KEY`, or as `x-api-key: KEY`.",
        )),
        None => Err(Refusal::invalid_api_key("The key is not known here, or was revoked.")),
    }
}

/// The key may ask for the model (its id).
pub(crate) fn may_use(key: Option<&Key>, model: &str) -> bool {
    key.and_then(|key| key.models.as_ref()).is_none_or(|models| models.iter().any(|own| own == model))
}

/// As [`may_use`], with what to answer.
pub(crate) fn check_model(key: Option<&Key>, model: &str) -> Result<(), Refusal> {
    match key {
        Some(key) if !may_use(Some(key), model) => Err(Refusal::model_not_allowed(model, &key.name)),
        _ => Ok(()),
    }
}
