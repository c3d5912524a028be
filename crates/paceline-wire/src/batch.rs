//! Rows in Arrow form.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt32Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, LargeStringArray, ListArray, PrimitiveArray,
    RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{Field, Fields, Schema};

use crate::error::WireError;
use crate::record::{Observation, RequestRecord};

/// Gathers rows; their instants become relative to an origin.
#[derive(Debug)]
pub struct BatchBuilder {
    origin_ns: i64,
    rows: Vec<RequestRecord>,
}

impl BatchBuilder {
    /// A builder without rows.
    #[must_use]
    pub fn new(origin_ns: i64) -> Self {
        Self { origin_ns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: RequestRecord) {
        self.rows.push(row);
    }

    /// Rows so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as a batch.
    ///
    /// # Errors
    /// When a column would be larger than Arrow's 32-bit offsets allow.
    pub fn finish(self) -> Result<RecordBatch, WireError> {
        let columns = columns(&self.rows, self.origin_ns)?;
        let fields: Fields = columns
            .iter()
            .map(|(name, nullable, values)| Field::new(*name, values.data_type().clone(), *nullable))
            .collect();
        let values = columns.into_iter().map(|(_, _, values)| values).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), values)?)
    }
}

const NULL: bool = true;
const FULL: bool = false;

type Column = (&'static str, bool, ArrayRef);

/// The table of columns: name, whether it may be null, values.
fn columns(rows: &[RequestRecord], origin_ns: i64) -> Result<Vec<Column>, WireError> {
    let of = Rows { rows, origin_ns };
    Ok(vec![
        ("segment", FULL, Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.segment)))),
        (
            "request_index",
            FULL,
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.request_index))),
        ),
        ("phase", FULL, of.strings("phase", |r| Some(if r.warmup { "warmup" } else { "measure" }))?),
        ("response_id", NULL, of.strings("response_id", |r| r.observation.response_id.as_deref())?),
        ("intended_ns", FULL, of.instants(|r| Some(r.intended_ns))),
        ("sent_ns", NULL, of.instants(|r| r.sent_ns)),
        ("written_ns", NULL, of.instants(|r| r.written_ns)),
        ("connect_ns", NULL, of.numbers(|r| r.connect_ns)),
        ("tls_ns", NULL, of.numbers(|r| r.tls_ns)),
        ("connection_reused", FULL, of.flags(|r| r.connection_reused)),
        ("headers_ns", NULL, of.instants(|r| r.observation.headers_ns)),
        ("end_ns", FULL, of.instants(|r| Some(r.observation.end_ns))),
        ("status", NULL, Arc::new(rows.iter().map(|r| r.observation.status).collect::<UInt16Array>())),
        ("outcome", FULL, of.strings("outcome", |r| Some(r.observation.outcome.as_str()))?),
        ("error", NULL, of.strings("error", |r| r.observation.error.as_deref())?),
        ("finish_reason", NULL, of.strings("finish_reason", |r| r.observation.finish_reason.as_deref())?),
        ("end_marker", FULL, of.flags(|r| r.observation.end_marker)),
        ("retry_after_ms", NULL, of.numbers(|r| r.observation.retry_after_ms)),
        ("prompt_tokens", NULL, of.numbers(|r| r.observation.prompt_tokens)),
        ("completion_tokens", NULL, of.numbers(|r| r.observation.completion_tokens)),
        ("reasoning_tokens", NULL, of.numbers(|r| r.observation.reasoning_tokens)),
        ("cached_tokens", NULL, of.numbers(|r| r.observation.cached_tokens)),
        ("server_model", NULL, of.strings("server_model", |r| r.observation.server_model.as_deref())?),
        ("server_timings", NULL, of.strings("server_timings", |r| r.observation.server_timings.as_deref())?),
        (
            "bytes_received",
            FULL,
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.observation.bytes_received))),
        ),
        ("events", FULL, Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.observation.events)))),
        ("streaming", FULL, of.flags(|r| r.observation.streaming)),
        ("kernel_stamped", FULL, of.flags(|r| r.observation.kernel_stamped)),
        ("event_ns", FULL, of.event_ns()?),
        ("event_kind", FULL, of.lists::<UInt8Type>("event_kind", |o| &o.event_kind)?),
        ("event_tokens", FULL, of.lists::<Int32Type>("event_tokens", |o| &o.event_tokens)?),
        ("event_bytes", FULL, of.lists::<UInt32Type>("event_bytes", |o| &o.event_bytes)?),
        ("event_coalesced", FULL, of.event_coalesced()?),
        (
            "text",
            FULL,
            Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|r| &r.observation.text))),
        ),
    ])
}

/// Makes columns of rows.
struct Rows<'a> {
    rows: &'a [RequestRecord],
    origin_ns: i64,
}

impl Rows<'_> {
    fn numbers(&self, of: impl Fn(&RequestRecord) -> Option<i64>) -> ArrayRef {
        Arc::new(self.rows.iter().map(of).collect::<Int64Array>())
    }

    fn instants(&self, of: impl Fn(&RequestRecord) -> Option<i64>) -> ArrayRef {
        self.numbers(|row| of(row).map(|ns| ns.saturating_sub(self.origin_ns)))
    }

    fn flags(&self, of: impl Fn(&RequestRecord) -> bool) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(self.rows.iter().map(|row| Some(of(row)))))
    }

    fn strings(
        &self,
        column: &'static str,
        of: impl Fn(&RequestRecord) -> Option<&str>,
    ) -> Result<ArrayRef, WireError> {
        check(column, self.rows.iter().filter_map(&of).map(str::len))?;
        Ok(Arc::new(self.rows.iter().map(of).collect::<StringArray>()))
    }

    fn lists<T: ArrowPrimitiveType>(
        &self,
        column: &'static str,
        of: impl Fn(&Observation) -> &Vec<T::Native>,
    ) -> Result<ArrayRef, WireError> {
        let lists = || self.rows.iter().map(|row| of(&row.observation));
        let mut values = Vec::with_capacity(lists().map(Vec::len).sum());
        lists().for_each(|list| values.extend_from_slice(list));
        let values = PrimitiveArray::<T>::new(values.into(), None);
        list(column, lists().map(Vec::len), Arc::new(values))
    }

    fn event_ns(&self) -> Result<ArrayRef, WireError> {
        let all = self.rows.iter().flat_map(|row| &row.observation.event_ns);
        let values: PrimitiveArray<Int64Type> =
            Int64Array::from_iter_values(all.map(|ns| ns.saturating_sub(self.origin_ns)));
        list("event_ns", self.rows.iter().map(|row| row.observation.event_ns.len()), Arc::new(values))
    }

    fn event_coalesced(&self) -> Result<ArrayRef, WireError> {
        let all = self.rows.iter().flat_map(|row| &row.observation.event_coalesced);
        let values: BooleanArray = all.map(|flag| Some(*flag)).collect();
        list(
            "event_coalesced",
            self.rows.iter().map(|row| row.observation.event_coalesced.len()),
            Arc::new(values),
        )
    }
}

fn list(
    column: &'static str,
    lengths: impl Iterator<Item = usize> + Clone,
    values: ArrayRef,
) -> Result<ArrayRef, WireError> {
    check(column, lengths.clone())?;
    let item = Arc::new(Field::new("item", values.data_type().clone(), false));
    Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), values, None)?))
}

/// Arrow's offsets have 32 bits, and its builders panic beyond.
fn check(column: &'static str, lengths: impl Iterator<Item = usize>) -> Result<(), WireError> {
    let size = lengths.fold(0, usize::saturating_add);
    if i32::try_from(size).is_err() { Err(WireError::TooLarge { column, size }) } else { Ok(()) }
}
