//! Which stretches of the generated text are of which kind: an event may carry several.

use std::borrow::Cow;

use crate::record::KIND_CONTENT;

/// The kinds of a text, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stretches(Vec<Stretch>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    kind: u8,
    /// Where it ends in the text; it begins where the one before ends.
    end: usize,
}

impl Stretches {
    /// The text has got longer, to `end`, by text of this kind.
    #[inline]
    pub(crate) fn extend(&mut self, kind: u8, end: usize) {
        match self.0.last_mut() {
            Some(last) if last.kind == kind => last.end = end,
            _ => self.0.push(Stretch { kind, end }),
        }
    }

    /// The text has been cut to `end`.
    pub(crate) fn truncate(&mut self, end: usize) {
        let whole = self.0.partition_point(|stretch| stretch.end <= end);
        let before = whole.checked_sub(1).map_or(0, |at| self.0[at].end);
        self.0.truncate(if before < end { whole + 1 } else { whole });
        if let Some(last) = self.0.last_mut() {
            last.end = last.end.min(end);
        }
    }

    /// The content of `text`; where there is none, all of it.
    pub(crate) fn answer<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let begins = std::iter::once(0).chain(self.0.iter().map(|stretch| stretch.end));
        let mut content = begins
            .zip(&self.0)
            .filter(|(_, stretch)| stretch.kind == KIND_CONTENT)
            .map(|(begin, stretch)| text.get(begin..stretch.end).unwrap_or_default());
        let Some(first) = content.next() else { return Cow::Borrowed(text) };
        content.fold(Cow::Borrowed(first), |answer, piece| answer + piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{KIND_REASONING, KIND_TOOL_CALL};

    fn stretches(pieces: &[(u8, &str)]) -> (Stretches, String) {
        let (mut stretches, mut text) = (Stretches::default(), String::new());
        for (kind, piece) in pieces {
            text.push_str(piece);
            stretches.extend(*kind, text.len());
        }
        (stretches, text)
    }

    #[test]
    fn the_answer_is_the_content() {
        for (pieces, answer) in [
            (&[][..], ""),
            (&[(KIND_CONTENT, "a"), (KIND_CONTENT, "b")], "ab"),
            (&[(KIND_REASONING, "häm"), (KIND_CONTENT, "é"), (KIND_TOOL_CALL, "{}")], "é"),
            (&[(KIND_CONTENT, "a"), (KIND_TOOL_CALL, "{}"), (KIND_CONTENT, "b")], "ab"),
            (&[(KIND_REASONING, "hm"), (KIND_TOOL_CALL, "{}")], "hm{}"),
        ] {
            let (stretches, text) = stretches(pieces);
            assert_eq!(stretches.answer(&text), answer);
        }
    }

    #[test]
    fn a_text_that_is_not_kept_has_no_answer() {
        assert_eq!(Stretches::default().answer(""), "");
    }

    #[test]
    fn a_cut_text_has_the_kinds_of_what_is_left() {
        let pieces = [(KIND_REASONING, "hm"), (KIND_CONTENT, "yes"), (KIND_TOOL_CALL, "{}")];
        for (end, left) in [
            (0, &[][..]),
            (1, &[(KIND_REASONING, "h")]),
            (2, &[(KIND_REASONING, "hm")]),
            (4, &[(KIND_REASONING, "hm"), (KIND_CONTENT, "ye")]),
            (5, &pieces[..2]),
            (7, &pieces[..]),
            (9, &pieces[..]),
        ] {
            let (mut all, _) = stretches(&pieces);
            all.truncate(end);
            assert_eq!(all, stretches(left).0, "cut at {end}");
        }
    }
}
