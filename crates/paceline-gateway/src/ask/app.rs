//! Which application asks, as OpenRouter's clients say it: `X-Title` and `HTTP-Referer`.

use paceline_io::http1::Head;

/// The most characters that are kept of either.
const MAX_LETTERS: usize = 200;

/// The application's title and address, neither longer than 200 characters; control characters are left out, and of the
/// address what may hold a secret: user, query and fragment.
pub(crate) fn app(head: &Head) -> (Option<String>, Option<String>) {
    let first = |names: &[&str]| names.iter().find_map(|name| head.header(name)).map(str::to_owned);
    let title = first(&["x-title", "x-openrouter-title"]);
    let referer = first(&["http-referer", "referer"]);
    (title.and_then(|title| bounded(&title)), referer.and_then(|address| bounded(bare(&address).as_str())))
}

fn bounded(text: &str) -> Option<String> {
    let kept: String = text.chars().filter(|letter| !letter.is_control()).take(MAX_LETTERS).collect();
    let kept = kept.trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

fn bare(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or("");
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit('@').next().unwrap_or("");
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, &str)]) -> (Option<String>, Option<String>) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        app(&Head { headers, ..Head::default() })
    }

    #[test]
    fn both_names_of_each_are_read() {
        let read_both = read(&[("x-title", " My app "), ("http-referer", "https://app.example/x")]);
        assert_eq!(read_both, (Some("My app".to_owned()), Some("https://app.example/x".to_owned())));
        assert_eq!(read(&[("referer", "app.example")]).1.as_deref(), Some("app.example"));
        assert_eq!(read(&[("x-openrouter-title", "t")]).0.as_deref(), Some("t"));
        assert_eq!(read(&[("x-title", "  ")]), (None, None));
    }

    #[test]
    fn they_are_bounded_and_hold_no_secret() {
        let title = format!("a\u{1b}[31m\u{7}{}", "é".repeat(500));
        let (title, referer) = read(&[
            ("x-title", &title),
            ("http-referer", "https://u:secret@app.example/p?token=secret#secret"),
        ]);
        let title = title.unwrap();
        assert_eq!(title.chars().count(), 200);
        assert!(title.starts_with("a[31mé"));
        assert_eq!(referer.as_deref(), Some("https://app.example/p"));
    }
}
