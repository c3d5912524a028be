//! A stream of the messages protocol as chat's.

use std::borrow::Cow;

use crate::Untranslatable;
use crate::fields::Fields;
use crate::json::{Json, object};
use crate::response_to_chat::created;
use crate::usage::{self, Usage};
use crate::{finish, sse, thinking};

/// The state between two events.
#[derive(Debug)]
pub(crate) struct ToChat {
    usage_asked: bool,
    id: String,
    model: String,
    created: i64,
    used: Usage,
    begun: bool,
    finished: bool,
    ended: bool,
    /// The block that is open.
    block: Block,
    calls: i64,
    thoughts: i64,
}

#[derive(Debug, Default)]
enum Block {
    #[default]
    Other,
    Thinking,
    /// A call: what stood in it when it began, until some of it has come in pieces.
    Call {
        whole: Option<String>,
    },
}

type Delta<'a> = Vec<(&'static str, Json<'a>)>;

impl ToChat {
    pub(crate) fn new(usage_asked: bool) -> Self {
        Self {
            usage_asked,
            id: String::new(),
            model: String::new(),
            created: created(),
            used: Usage::default(),
            begun: false,
            finished: false,
            ended: false,
            block: Block::Other,
            calls: 0,
            thoughts: 0,
        }
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.finished || self.ended
    }

    pub(crate) fn event(&mut self, event: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        if event.reports_error() {
            return Ok(());
        }
        match event.text("type", "")?.as_deref() {
            Some("message_start") => self.begin(event, out)?,
            Some("content_block_start") => {
                if let Some(block) = event.object("content_block", "")? {
                    self.block_start(&block, out)?;
                }
            }
            Some("content_block_delta") => {
                if let Some(delta) = event.object("delta", "")? {
                    self.block_delta(&delta, out)?;
                }
            }
            Some("content_block_stop") => self.block_stop(out),
            Some("message_delta") => {
                if let Some(usage) = usage::of(event) {
                    self.used.messages(&usage, false);
                }
                let delta = event.object("delta", "")?.unwrap_or_default();
                if let Some(reason) = delta.text("stop_reason", "delta")?.filter(|r| !finish::is_error(r)) {
                    self.finish(&reason, out);
                }
            }
            Some("message_stop") => self.end(out),
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        let message = event.object("message", "")?.unwrap_or_default();
        if !self.begun {
            self.id = message.text("id", "message")?.unwrap_or_default().into_owned();
            self.model = message.text("model", "message")?.unwrap_or_default().into_owned();
        }
        if let Some(usage) = usage::of(&message) {
            self.used.messages(&usage, true);
        }
        self.say_role(out);
        Ok(())
    }

    /// The first chunk has the role.
    fn say_role(&mut self, out: &mut Vec<u8>) {
        if !self.begun {
            self.begun = true;
            self.chunk(vec![("role", "assistant".into()), ("content", "".into())], out);
        }
    }

    fn block_start(&mut self, block: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        self.say_role(out);
        let at = "content_block";
        self.block = Block::Other;
        match block.text("type", at)?.as_deref() {
            Some("text") => self.text(block.text("text", at)?, out),
            Some("thinking") => {
                self.block = Block::Thinking;
                self.thoughts += 1;
                self.thought(block.text("thinking", at)?, out);
                self.signature(block.text("signature", at)?, out);
            }
            Some("redacted_thinking") => {
                let data = block.text("data", at)?.unwrap_or_default();
                let detail = thinking::encrypted(self.thoughts, data);
                self.thoughts += 1;
                self.chunk(vec![("reasoning_details", vec![detail].into())], out);
            }
            Some("tool_use") => {
                let whole = block.get("input").map(|raw| raw.get().to_owned());
                self.block = Block::Call { whole: Some(whole.unwrap_or_else(|| "{}".to_owned())) };
                let function = [("name", block.needed_text("name", at)?.into()), ("arguments", "".into())];
                let call = object([
                    ("index", self.calls.into()),
                    ("id", block.needed_text("id", at)?.into()),
                    ("type", "function".into()),
                    ("function", object(function)),
                ]);
                self.calls += 1;
                self.chunk(vec![("tool_calls", vec![call].into())], out);
            }
            _ => {}
        }
        Ok(())
    }

    fn block_delta(&mut self, delta: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        self.say_role(out);
        self.text(delta.text("text", "delta")?, out);
        self.thought(delta.text("thinking", "delta")?, out);
        self.signature(delta.text("signature", "delta")?, out);
        if let Some(piece) = delta.text("partial_json", "delta")?.filter(|piece| !piece.is_empty())
            && let Block::Call { whole } = &mut self.block
        {
            *whole = None;
            self.arguments(piece, out);
        }
        Ok(())
    }

    /// Of a call that came without pieces, what stood in its beginning: an object, if an empty one.
    fn block_stop(&mut self, out: &mut Vec<u8>) {
        if let Block::Call { whole: Some(whole) } = std::mem::take(&mut self.block) {
            self.arguments(whole.into(), out);
        }
    }

    fn text(&self, text: Option<Cow<'_, str>>, out: &mut Vec<u8>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.chunk(vec![("content", text.into())], out);
        }
    }

    fn thought(&self, text: Option<Cow<'_, str>>, out: &mut Vec<u8>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let detail = thinking::detail(self.thought_index(), Some(text.clone()), None);
            let delta = vec![
                ("reasoning", text.clone().into()),
                ("reasoning_content", text.into()),
                ("reasoning_details", vec![detail].into()),
            ];
            self.chunk(delta, out);
        }
    }

    fn signature(&self, signature: Option<Cow<'_, str>>, out: &mut Vec<u8>) {
        if let Some(signature) = signature.filter(|text| !text.is_empty()) {
            let detail = thinking::detail(self.thought_index(), None, Some(signature));
            self.chunk(vec![("reasoning_details", vec![detail].into())], out);
        }
    }

    fn thought_index(&self) -> i64 {
        (self.thoughts - 1).max(0)
    }

    fn arguments(&self, piece: Cow<'_, str>, out: &mut Vec<u8>) {
        let function = object([("arguments", piece.into())]);
        let call = object([("index", (self.calls - 1).into()), ("function", function)]);
        self.chunk(vec![("tool_calls", vec![call].into())], out);
    }

    fn finish(&mut self, reason: &str, out: &mut Vec<u8>) {
        if !self.finished {
            self.say_role(out);
            self.finished = true;
            self.choice(Vec::new(), Some(reason), out);
        }
    }

    /// The end: the usage, where it was asked for, and the end marker.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        self.block_stop(out);
        self.finish(if self.calls > 0 { "tool_use" } else { "end_turn" }, out);
        if self.usage_asked {
            self.document(Vec::new(), Some(self.used.to_chat()), out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
        self.ended = true;
    }

    fn chunk(&self, delta: Delta<'_>, out: &mut Vec<u8>) {
        self.choice(delta, None, out);
    }

    fn choice(&self, delta: Delta<'_>, stop_reason: Option<&str>, out: &mut Vec<u8>) {
        let mut choice = vec![("index", 0.into()), ("delta", Json::Object(delta))];
        match stop_reason {
            None => choice.push(("finish_reason", Json::Null)),
            Some(reason) => {
                choice.push(("finish_reason", finish::to_chat(reason).into()));
                choice.push(("native_finish_reason", reason.into()));
            }
        }
        self.document(vec![Json::Object(choice)], None, out);
    }

    fn document(&self, choices: Vec<Json<'_>>, usage: Option<Json<'_>>, out: &mut Vec<u8>) {
        let mut fields = vec![
            ("id", Json::from(&*self.id)),
            ("object", "chat.completion.chunk".into()),
            ("created", self.created.into()),
            ("model", (&*self.model).into()),
            ("choices", choices.into()),
        ];
        fields.extend(usage.map(|usage| ("usage", usage)));
        sse::data(&Json::Object(fields), out);
    }
}
