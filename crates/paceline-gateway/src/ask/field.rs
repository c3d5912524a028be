//! One field of a request, read as what it has to be; the refusal names it. `null` is as if it were not there.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::members::Members;
use crate::refusal::Refusal;

/// The most entries of a list of names, and the most bytes of a name.
const MAX_NAMES: usize = 64;
const MAX_NAME_BYTES: usize = 256;

/// A field and its path, as `provider.order`.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    value: &'a RawValue,
}

impl<'a> Field<'a> {
    pub(super) fn new(path: impl Into<String>, value: &'a RawValue) -> Self {
        Self { path: path.into(), value }
    }

    pub(super) fn wrong(&self, what: &str) -> Refusal {
        Refusal::invalid_request(&self.path, what)
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.get() == "null"
    }

    pub(super) fn is_object(&self) -> bool {
        self.value.get().starts_with('{')
    }

    pub(super) fn is_empty_list(&self) -> bool {
        self.is_null()
            || self
                .read::<Vec<serde::de::IgnoredAny>>("a list")
                .is_ok_and(|list| list.is_some_and(|list| list.is_empty()))
    }

    fn read<T: DeserializeOwned>(&self, kind: &str) -> Result<Option<T>, Refusal> {
        if self.is_null() {
            return Ok(None);
        }
        serde_json::from_str(self.value.get())
            .map(Some)
            .map_err(|_| self.wrong(&format!("must be {kind}, and is {}", self.is_a())))
    }

    fn is_a(&self) -> &'static str {
        match self.value.get().as_bytes().first() {
            Some(b'"') => "a string",
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b't' | b'f') => "true or false",
            _ => "a number",
        }
    }

    pub(super) fn boolean(&self) -> Result<Option<bool>, Refusal> {
        self.read("true or false")
    }

    pub(super) fn string(&self) -> Result<Option<String>, Refusal> {
        self.read("a string")
    }

    pub(super) fn names(&self) -> Result<Vec<String>, Refusal> {
        let names: Vec<String> = self.read("a list of strings")?.unwrap_or_default();
        if names.len() > MAX_NAMES || names.iter().any(|name| name.len() > MAX_NAME_BYTES) {
            return Err(
                self.wrong(&format!("may have {MAX_NAMES} entries of {MAX_NAME_BYTES} bytes, and has more"))
            );
        }
        Ok(names)
    }

    /// A whole number, `least` or more; `4.0` is one too.
    pub(super) fn whole(&self, least: u64) -> Result<Option<u64>, Refusal> {
        let kind = format!("must be a whole number, {least} or more");
        let Some(number) = self.read::<serde_json::Number>("a number")? else { return Ok(None) };
        let whole = number.as_u64().or_else(|| {
            // Beyond 2^53 not each whole number is a float.
            let float =
                number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9.0e15).contains(float))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked just before"
            )]
            Some(float as u64)
        });
        whole.filter(|whole| *whole >= least).map(Some).ok_or_else(|| self.wrong(&kind))
    }

    /// A number above 0, finite; `from_text`: a string that holds one will do.
    pub(super) fn positive(&self, from_text: bool) -> Result<Option<f64>, Refusal> {
        self.number(from_text, "must be a number above 0", |number| number > 0.0)
    }

    /// A number of 0 or more, finite.
    pub(super) fn not_negative(&self, from_text: bool) -> Result<Option<f64>, Refusal> {
        self.number(from_text, "must be a number, 0 or more", |number| number >= 0.0)
    }

    fn number(&self, from_text: bool, kind: &str, good: fn(f64) -> bool) -> Result<Option<f64>, Refusal> {
        let number = if from_text && self.value.get().starts_with('"') {
            let text = self.string()?.unwrap_or_default();
            Some(text.trim().parse::<f64>().map_err(|_| self.wrong(kind))?)
        } else {
            self.read::<f64>("a number")?
        };
        match number {
            Some(number) if !number.is_finite() || !good(number) => Err(self.wrong(kind)),
            number => Ok(number),
        }
    }

    /// The fields of an object, those that are null left out.
    pub(super) fn fields(&self) -> Result<Vec<(String, Field<'a>)>, Refusal> {
        if self.is_null() {
            return Ok(Vec::new());
        }
        let members: Members<'a> = serde_json::from_str(self.value.get())
            .map_err(|_| self.wrong(&format!("must be an object, and is {}", self.is_a())))?;
        let mut fields: Vec<(String, Field<'a>)> = Vec::with_capacity(members.0.len());
        for member in members.0 {
            let field = Field::new(format!("{}.{}", self.path, member.name), member.value);
            if fields.iter().any(|(name, _)| *name == member.name) {
                return Err(field.wrong("is given twice"));
            }
            fields.push((member.name.into_owned(), field));
        }
        fields.retain(|(_, field)| !field.is_null());
        Ok(fields)
    }

    /// None of `names` is called that: refuses it, with the closest of them, or with all where they are few.
    pub(super) fn unknown(&self, name: &str, names: &[&str]) -> Refusal {
        let near = crate::refusal::closest(name, names.iter().copied(), 1);
        let hint = match near.first().filter(|_| names.len() > 4) {
            Some(near) => format!("the closest that is: `{near}`"),
            None => format!("there are `{}`", names.join("`, `")),
        };
        self.wrong(&format!("is not known; {hint}"))
    }
}
