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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::accounts::testing::{key, key_json, table};

    #[test]
    fn who_is_let_in() {
        let keys = [key_json("ann", json!({})), key_json("bob", json!({"expires_unix_s": 100}))];
        let strict = table(true, &keys);
        let open = table(false, &keys);
        let id = |table: &RouteTable, presented: Option<&str>, unix_s| {
            authenticate(table, presented, unix_s)
                .map(|key| key.map(|key| key.id.clone()))
                .map_err(|refusal| (refusal.status, refusal.code))
        };
        let refused = Err((401, "invalid_api_key"));
        for (presented, unix_s, strict_says, open_says) in [
            (Some("sk-ann"), 0, Ok(Some("ann".to_owned())), Ok(Some("ann".to_owned()))),
            (Some(" sk-ann "), 0, Ok(Some("ann".to_owned())), Ok(Some("ann".to_owned()))),
            (Some("sk-bob"), 99, Ok(Some("bob".to_owned())), Ok(Some("bob".to_owned()))),
            (Some("sk-bob"), 100, refused.clone(), refused.clone()),
            (Some("sk-eve"), 0, refused.clone(), Ok(None)),
            (Some("SK-ANN"), 0, refused.clone(), Ok(None)),
            (Some(""), 0, refused.clone(), Ok(None)),
            (None, 0, refused.clone(), Ok(None)),
        ] {
            assert_eq!(id(&strict, presented, unix_s), strict_says, "{presented:?}");
            assert_eq!(id(&open, presented, unix_s), open_says, "{presented:?}");
        }
    }

    #[test]
    fn no_refusal_repeats_what_was_presented() {
        let refusal = authenticate(&table(true, &[]), Some("sk-secret"), 0).unwrap_err();
        assert!(!format!("{refusal:?}").contains("secret"));
    }

    #[test]
    fn a_key_may_be_for_some_models_only() {
        let some = key("ann", json!({"models": ["demo"]}));
        let all = key("bob", json!({}));
        assert!(may_use(None, "demo") && may_use(Some(&all), "demo") && may_use(Some(&some), "demo"));
        assert!(!may_use(Some(&some), "other"));
    }
}
