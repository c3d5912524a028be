//! Which of an answer's tokens are reasoning, answer and tool call.

use std::ops::Range;

use crate::config::{EngineConfig, ExactConfig, Mode};
use crate::fault::FaultKind;
use crate::request::{Call, Protocol};

/// Bits of an event's kind, as in the row and the truth log.
pub(crate) const CONTENT: u8 = 1;
pub(crate) const REASONING: u8 = 2;
pub(crate) const TOOL: u8 = 4;

/// An embedding, which has no tokens.
pub(crate) const EMBEDDING: u8 = 8;

/// A part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Reasoning,
    Content,
    Tools,
}

const PARTS: [Part; 3] = [Part::Reasoning, Part::Content, Part::Tools];

/// The tokens of an answer: first reasoning, then content, then the arguments of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) total: u64,
    pub(crate) reasoning: u64,
    pub(crate) tools: u64,
}

/// A run of tokens, taken apart. The three ranges follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) reasoning: Range<u64>,
    pub(crate) content: Range<u64>,
    pub(crate) tools: Range<u64>,
}

/// An answer before the request's limit cuts it.
#[derive(Debug, Clone, Copy)]
struct Plan {
    tokens: u64,
    reasoning: u64,
    tools: u64,
}

impl Plan {
    fn of(mode: Mode, call: &Call, exact: &ExactConfig, engine: &EngineConfig) -> Self {
        let (configured, reasoning, tools) = match mode {
            Mode::Exact => (exact.output_tokens, exact.reasoning_tokens, exact.tool_tokens),
            Mode::Engine => (engine.output_tokens, engine.reasoning_tokens, 0),
        };
        let runs_to_limit = call.ignore_eos || mode == Mode::Engine;
        let tokens = call.max_tokens.filter(|_| runs_to_limit).unwrap_or(configured).max(call.min_tokens);
        Self { tokens, reasoning, tools }
    }
}

impl Shape {
    /// The tokens of the answer to `call`, and its finish reason.
    pub(crate) fn of(
        mode: Mode,
        call: &Call,
        exact: &ExactConfig,
        engine: &EngineConfig,
        fault: Option<FaultKind>,
    ) -> (Self, &'static str) {
        if fault == Some(FaultKind::Empty) {
            return (Self::content_only(0), "stop");
        }
        let Plan { tokens: planned, reasoning, tools } = Plan::of(mode, call, exact, engine);
        let total = call.max_tokens.map_or(planned, |limit| limit.min(planned));
        let shape = match call.protocol {
            Protocol::Chat | Protocol::Responses | Protocol::Messages => {
                Self::cut(total, planned, reasoning, tools)
            }
            Protocol::Completions => Self::content_only(total),
            Protocol::Embeddings => Self::content_only(0),
        };
        let reason = if total < planned {
            "length"
        } else if shape.tools > 0 {
            "tool_calls"
        } else if call.max_tokens == Some(total) {
            "length"
        } else {
            "stop"
        };
        (shape, reason)
    }

    /// Where `words` tokens begin that are the last of the content, in the answer as it was before any limit cut it.
    pub(crate) fn last_words(
        mode: Mode,
        call: &Call,
        exact: &ExactConfig,
        engine: &EngineConfig,
        words: u64,
    ) -> u64 {
        let plan = Plan::of(mode, call, exact, engine);
        plan.tokens.saturating_sub(plan.tools).saturating_sub(words).max(plan.reasoning)
    }

    /// An answer cut to `total` tokens of the planned numbers.
    pub(crate) fn cut(total: u64, planned: u64, reasoning: u64, tools: u64) -> Self {
        let reasoning = reasoning.min(total);
        let before_tools = planned.saturating_sub(tools);
        Self { total, reasoning, tools: total.saturating_sub(before_tools.max(reasoning)) }
    }

    /// Completions have no fields for reasoning and tool calls: all is content.
    pub(crate) fn content_only(total: u64) -> Self {
        Self { total, reasoning: 0, tools: 0 }
    }

    /// The first token of the tool call.
    pub(crate) fn tools_from(&self) -> u64 {
        self.total - self.tools
    }

    /// The tokens of a part.
    pub(crate) fn range(&self, part: Part) -> Range<u64> {
        match part {
            Part::Reasoning => 0..self.reasoning,
            Part::Content => self.reasoning..self.tools_from(),
            Part::Tools => self.tools_from()..self.total,
        }
    }

    fn present(&self) -> impl DoubleEndedIterator<Item = Part> {
        PARTS.into_iter().filter(|part| !self.range(*part).is_empty())
    }

    /// The part that comes first; none in an answer without tokens.
    pub(crate) fn first(&self) -> Option<Part> {
        self.present().next()
    }

    /// The part that comes last.
    pub(crate) fn last(&self) -> Option<Part> {
        self.present().next_back()
    }

    /// How many parts come before this one.
    pub(crate) fn place(&self, part: Part) -> usize {
        self.present().take_while(|present| *present != part).count()
    }

    /// The part that comes just before this one.
    pub(crate) fn before(&self, part: Part) -> Option<Part> {
        self.present().take_while(|present| *present != part).last()
    }

    pub(crate) fn piece(&self, tokens: Range<u64>) -> Piece {
        let within = |lo: u64, hi: u64| tokens.start.clamp(lo, hi)..tokens.end.clamp(lo, hi);
        let tools_from = self.tools_from();
        Piece {
            reasoning: within(0, self.reasoning),
            content: within(self.reasoning, tools_from),
            tools: within(tools_from, self.total),
        }
    }
}

impl Part {
    /// The bit of an event's kind.
    pub(crate) fn bit(self) -> u8 {
        match self {
            Self::Reasoning => REASONING,
            Self::Content => CONTENT,
            Self::Tools => TOOL,
        }
    }
}

impl Piece {
    pub(crate) fn kind(&self) -> u8 {
        let bit = |tokens: &Range<u64>, bit: u8| if tokens.is_empty() { 0 } else { bit };
        bit(&self.content, CONTENT) | bit(&self.reasoning, REASONING) | bit(&self.tools, TOOL)
    }

    /// The parts that it has tokens of, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, Range<u64>)> {
        let ranges = [self.reasoning.clone(), self.content.clone(), self.tools.clone()];
        PARTS.into_iter().zip(ranges).filter(|(_, tokens)| !tokens.is_empty())
    }

    pub(crate) fn tokens(&self) -> Range<u64> {
        let nonempty =
            [&self.reasoning, &self.content, &self.tools].into_iter().filter(|part| !part.is_empty());
        let (mut start, mut end) = (u64::MAX, 0);
        for part in nonempty {
            start = start.min(part.start);
            end = end.max(part.end);
        }
        if end == 0 { 0..0 } else { start..end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_may_carry_several_kinds() {
        let shape = Shape::cut(10, 10, 3, 2);
        let piece = shape.piece(2..9);
        assert_eq!((piece.reasoning.clone(), piece.content.clone(), piece.tools.clone()), (2..3, 3..8, 8..9));
        assert_eq!((piece.kind(), piece.tokens()), (7, 2..9));
        assert_eq!(shape.piece(0..3).kind(), REASONING);
        assert_eq!(shape.piece(3..8).kind(), CONTENT);
        assert_eq!((shape.piece(8..10).kind(), shape.piece(8..10).tokens()), (TOOL, 8..10));
        assert_eq!((shape.piece(5..5).kind(), shape.piece(5..5).tokens()), (0, 0..0));
    }

    #[test]
    fn parts_that_are_empty_are_not_there() {
        let all = Shape::cut(10, 10, 3, 2);
        assert_eq!((all.first(), all.last()), (Some(Part::Reasoning), Some(Part::Tools)));
        assert_eq!((all.place(Part::Tools), all.before(Part::Tools)), (2, Some(Part::Content)));
        let bare = Shape::cut(5, 5, 3, 2);
        assert_eq!((bare.place(Part::Tools), bare.before(Part::Tools)), (1, Some(Part::Reasoning)));
        assert_eq!((bare.before(Part::Reasoning), bare.range(Part::Tools)), (None, 3..5));
        assert_eq!((Shape::content_only(0).first(), Shape::content_only(0).last()), (None, None));
        assert_eq!(
            all.piece(2..4).parts().collect::<Vec<_>>(),
            [(Part::Reasoning, 2..3), (Part::Content, 3..4)]
        );
    }

    #[test]
    fn a_limit_cuts_from_the_end() {
        assert_eq!(Shape::cut(9, 10, 3, 2), Shape { total: 9, reasoning: 3, tools: 1 });
        assert_eq!(Shape::cut(8, 10, 3, 2), Shape { total: 8, reasoning: 3, tools: 0 });
        assert_eq!(Shape::cut(2, 10, 3, 2), Shape { total: 2, reasoning: 2, tools: 0 });
        assert_eq!(Shape::cut(20, 20, 0, 20), Shape { total: 20, reasoning: 0, tools: 20 });
    }
}
