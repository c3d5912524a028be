//! Which page a path is.

use crate::refusal::Refusal;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Models,
    Model(String),
    Endpoints(String),
    Generation(String),
    Key,
    Health,
    Ready,
    Metrics,
    Figures,
}

/// What clients may ask for, besides the POST paths.
pub(super) const CLIENT_PATHS: [&str; 8] = [
    "/v1/models",
    "/v1/models/{model}",
    "/v1/models/{model}/endpoints",
    "/v1/generation?id=",
    "/v1/key",
    "/v1/auth/key",
    "/healthz",
    "/readyz",
];

/// What takes a POST.
pub(super) const ASK_PATHS: [&str; 5] =
    ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/messages"];

/// What the admin address has.
pub(super) const ADMIN_PATHS: [&str; 4] = ["/metrics", "/endpoints", "/healthz", "/readyz"];

/// The page of a path (`/api/v1/...` is `/v1/...` by now).
///
/// # Errors
/// `unknown_path`, `method_not_allowed`, or `invalid_request` where the query lacks something.
pub(super) fn wanted(method: &str, path: &str, query: &str, admin: bool) -> Result<Wanted, Refusal> {
    let page = page(path, query, admin)?;
    if method == "GET" { Ok(page) } else { Err(Refusal::method_not_allowed(method, path, "GET")) }
}

fn page(path: &str, query: &str, admin: bool) -> Result<Wanted, Refusal> {
    let bare = path.strip_suffix('/').filter(|bare| !bare.is_empty()).unwrap_or(path);
    match (bare, admin) {
        ("/healthz", _) => return Ok(Wanted::Health),
        ("/readyz", _) => return Ok(Wanted::Ready),
        ("/metrics", true) => return Ok(Wanted::Metrics),
        ("/endpoints", true) => return Ok(Wanted::Figures),
        ("/v1/models", false) => return Ok(Wanted::Models),
        ("/v1/key" | "/v1/auth/key", false) => return Ok(Wanted::Key),
        ("/v1/generation", false) => {
            return parameter(query, "id")
                .filter(|id| !id.is_empty())
                .map(Wanted::Generation)
                .ok_or_else(|| Refusal::invalid_request("id", "is missing: /v1/generation?id=gen-..."));
        }
        _ => {}
    }
    if let Some(rest) = bare.strip_prefix("/v1/models/").filter(|_| !admin) {
        return Ok(match rest.strip_suffix("/endpoints") {
            Some(model) => Wanted::Endpoints(decoded(model)),
            None => Wanted::Model(decoded(rest)),
        });
    }
    let known: Vec<&str> =
        if admin { ADMIN_PATHS.to_vec() } else { ASK_PATHS.iter().chain(&CLIENT_PATHS).copied().collect() };
    let refusal = Refusal::unknown_path(path, &known);
    Err(match (bare, admin) {
        ("/metrics" | "/endpoints", false) => Refusal {
            message: format!("{bare} is at the gateway's admin address (`admin_listen`), not at this one."),
            ..refusal
        },
        _ => refusal,
    })
}

fn parameter(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key) == name).then(|| decoded(value))
    })
}

/// Percent signs taken off; what is no UTF-8 then is replaced, and what is no escape stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = (*byte == b'%').then(|| {
            let digit = |place: usize| char::from(*bytes.get(place)?).to_digit(16);
            u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
        });
        if let Some(Some(decoded)) = escaped {
            out.push(decoded);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(target: &str, admin: bool) -> Result<Wanted, &'static str> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        wanted("GET", path, query, admin).map_err(|refusal| refusal.code)
    }

    #[test]
    fn each_path_has_its_page() {
        let name = |name: &str| name.to_owned();
        for (target, page) in [
            ("/v1/models", Wanted::Models),
            ("/v1/models/", Wanted::Models),
            ("/v1/models/demo", Wanted::Model(name("demo"))),
            ("/v1/models/a%2Fb%3Ac", Wanted::Model(name("a/b:c"))),
            ("/v1/models/demo/endpoints", Wanted::Endpoints(name("demo"))),
            ("/v1/models/author/slug/endpoints", Wanted::Endpoints(name("author/slug"))),
            ("/v1/generation?x=1&id=gen-1", Wanted::Generation(name("gen-1"))),
            ("/v1/key", Wanted::Key),
            ("/v1/auth/key", Wanted::Key),
            ("/healthz", Wanted::Health),
            ("/readyz", Wanted::Ready),
        ] {
            assert_eq!(read(target, false), Ok(page), "{target}");
        }
        assert_eq!(read("/metrics", true), Ok(Wanted::Metrics));
        assert_eq!(read("/endpoints", true), Ok(Wanted::Figures));
        assert_eq!(read("/healthz", true), Ok(Wanted::Health));
    }

    #[test]
    fn figures_of_operators_are_not_for_clients_and_the_other_way_round() {
        for (target, admin) in [
            ("/metrics", false),
            ("/endpoints", false),
            ("/v1/models", true),
            ("/v1/key", true),
            ("/", false),
        ] {
            assert_eq!(read(target, admin), Err("unknown_path"), "{target}");
        }
        let refusal = wanted("GET", "/metrics", "", false).unwrap_err();
        assert!(refusal.message.contains("admin_listen"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(read("/v1/generation", false), Err("invalid_request"));
        assert_eq!(read("/v1/chat", false), Err("unknown_path"));
        let refusal = wanted("POST", "/v1/models", "", false).unwrap_err();
        assert_eq!((refusal.status, refusal.code), (405, "method_not_allowed"));
        assert!(wanted("GET", "/v1/chats", "", false).unwrap_err().message.contains("/v1/chat/completions"));
    }

    #[test]
    fn escapes_that_are_none_stay() {
        for (text, read) in [("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("a%20b", "a b"), ("%ff", "\u{fffd}")]
        {
            assert_eq!(decoded(text), read);
        }
    }
}
