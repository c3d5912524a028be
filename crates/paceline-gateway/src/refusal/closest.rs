//! The closest names to one that there is not.

/// A longer name is not compared: nobody mistypes it by a letter.
const MAX_LETTERS: usize = 128;

/// At most `most` of `names`, closest first: those that hold `asked` or are held by it, and those within a third of its
/// letters of edits (insertions, deletions, changes, and swaps of two neighbours). Case does not matter.
pub(crate) fn closest<'a>(asked: &str, names: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let asked: Vec<char> = asked.to_lowercase().chars().take(MAX_LETTERS + 1).collect();
    if asked.is_empty() || asked.len() > MAX_LETTERS {
        return Vec::new();
    }
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let letters: Vec<char> = name.to_lowercase().chars().take(MAX_LETTERS + 1).collect();
            let near = (letters.len() <= MAX_LETTERS).then(|| distance(&asked, &letters))?;
            let allowed = asked.len().max(letters.len()).div_ceil(3);
            (near <= allowed || holds(&asked, &letters) || holds(&letters, &asked)).then_some((near, name))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(most).map(|(_, name)| name).collect()
}

/// A part of three letters or more, so that `m` does not call up each name with an m.
fn holds(whole: &[char], part: &[char]) -> bool {
    part.len() >= 3 && whole.windows(part.len()).any(|window| window == part)
}

/// The least number of edits (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(from != to)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(a: &str, b: &str) -> usize {
        distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
            ("gpt-4o", "gtp-4o", 1),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(edits(a, b), expected, "{a} {b}");
            assert_eq!(edits(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn the_closest_come_first_and_strangers_not_at_all() {
        let names = ["llama-3.3-70b", "llama-3.1-8b", "qwen3-32b", "deepseek-v3"];
        let near = |asked: &str| closest(asked, names.into_iter(), 2);
        assert_eq!(near("lama-3.3-70b"), ["llama-3.3-70b", "llama-3.1-8b"]);
        assert_eq!(near("QWEN3-32B"), ["qwen3-32b"]);
        assert_eq!(near("qwen"), ["qwen3-32b"]);
        assert_eq!(near("meta-llama/llama-3.1-8b-instruct"), ["llama-3.1-8b"]);
        assert!(near("claude").is_empty());
        assert!(near("").is_empty());
        assert!(near(&"x".repeat(MAX_LETTERS + 1)).is_empty());
    }
}
