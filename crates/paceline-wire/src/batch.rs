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
        ("session", NULL, Arc::new(rows.iter().map(|r| r.session).collect::<UInt64Array>())),
        ("step", NULL, Arc::new(rows.iter().map(|r| r.step).collect::<UInt32Array>())),
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
        ("cache_write_tokens", NULL, of.numbers(|r| r.observation.cache_write_tokens)),
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
        ("hangup_ns", NULL, of.instants(|r| r.hangup_ns)),
        ("stopped_ns", NULL, of.instants(|r| r.stopped_ns)),
        ("tail_bytes", NULL, Arc::new(rows.iter().map(|r| r.tail_bytes).collect::<UInt64Array>())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt16Type, UInt64Type};
    use arrow_schema::DataType;

    fn row() -> RequestRecord {
        RequestRecord {
            segment: 3,
            request_index: 41,
            session: Some(42),
            step: Some(43),
            warmup: true,
            intended_ns: 1_010,
            sent_ns: Some(1_020),
            written_ns: Some(1_030),
            connect_ns: Some(7),
            tls_ns: Some(8),
            connection_reused: true,
            hangup_ns: Some(1_070),
            stopped_ns: Some(1_080),
            tail_bytes: Some(17),
            observation: Observation {
                response_id: Some("id".into()),
                headers_ns: Some(1_040),
                end_ns: 1_090,
                status: Some(200),
                outcome: Outcome::Ok,
                error: Some("e".into()),
                finish_reason: Some("stop".into()),
                end_marker: true,
                retry_after_ms: Some(9),
                prompt_tokens: Some(11),
                completion_tokens: Some(12),
                reasoning_tokens: Some(13),
                cached_tokens: Some(14),
                cache_write_tokens: Some(18),
                server_model: Some("m".into()),
                server_timings: Some("{}".into()),
                bytes_received: 15,
                events: 16,
                streaming: true,
                kernel_stamped: true,
                event_ns: vec![1_050, 1_060],
                event_kind: vec![1, 2],
                event_tokens: vec![-1, 4],
                event_bytes: vec![5, 6],
                event_coalesced: vec![false, true],
                text: "hello words".into(),
                ..Observation::new(true)
            },
        }
    }

    fn bare() -> RequestRecord {
        RequestRecord {
            segment: 0,
            request_index: 0,
            session: None,
            step: None,
            warmup: false,
            intended_ns: 1_000,
            sent_ns: None,
            written_ns: None,
            connect_ns: None,
            tls_ns: None,
            connection_reused: false,
            hangup_ns: None,
            stopped_ns: None,
            tail_bytes: None,
            observation: Observation::new(false),
        }
    }

    fn batch() -> RecordBatch {
        let mut builder = BatchBuilder::new(1_000);
        assert!(builder.is_empty());
        builder.push(row());
        builder.push(bare());
        assert_eq!(builder.len(), 2);
        builder.finish().unwrap()
    }

    #[test]
    fn the_schema_is_that_of_the_design() {
        use DataType::{Boolean, Int32, Int64, LargeUtf8, UInt8, UInt16, UInt32, UInt64, Utf8};
        let list = |of: DataType| DataType::List(Arc::new(Field::new("item", of, false)));
        let expected = [
            ("segment", UInt32, false),
            ("request_index", UInt64, false),
            ("session", UInt64, true),
            ("step", UInt32, true),
            ("phase", Utf8, false),
            ("response_id", Utf8, true),
            ("intended_ns", Int64, false),
            ("sent_ns", Int64, true),
            ("written_ns", Int64, true),
            ("connect_ns", Int64, true),
            ("tls_ns", Int64, true),
            ("connection_reused", Boolean, false),
            ("headers_ns", Int64, true),
            ("end_ns", Int64, false),
            ("status", UInt16, true),
            ("outcome", Utf8, false),
            ("error", Utf8, true),
            ("finish_reason", Utf8, true),
            ("end_marker", Boolean, false),
            ("retry_after_ms", Int64, true),
            ("prompt_tokens", Int64, true),
            ("completion_tokens", Int64, true),
            ("reasoning_tokens", Int64, true),
            ("cached_tokens", Int64, true),
            ("cache_write_tokens", Int64, true),
            ("server_model", Utf8, true),
            ("server_timings", Utf8, true),
            ("bytes_received", UInt64, false),
            ("events", UInt32, false),
            ("streaming", Boolean, false),
            ("kernel_stamped", Boolean, false),
            ("hangup_ns", Int64, true),
            ("stopped_ns", Int64, true),
            ("tail_bytes", UInt64, true),
            ("event_ns", list(Int64), false),
            ("event_kind", list(UInt8), false),
            ("event_tokens", list(Int32), false),
            ("event_bytes", list(UInt32), false),
            ("event_coalesced", list(Boolean), false),
            ("text", LargeUtf8, false),
        ]
        .map(|(name, kind, nullable)| Field::new(name, kind, nullable));
        for batch in [batch(), BatchBuilder::new(5).finish().unwrap()] {
            let fields: Vec<Field> = batch.schema().fields().iter().map(|field| (**field).clone()).collect();
            assert_eq!(fields, expected);
        }
    }

    #[test]
    fn every_value_arrives_and_instants_are_relative() {
        let batch = batch();
        let column = |name: &str| batch.column_by_name(name).unwrap().clone();
        for (name, value) in [
            ("intended_ns", 10),
            ("sent_ns", 20),
            ("written_ns", 30),
            ("connect_ns", 7),
            ("tls_ns", 8),
            ("headers_ns", 40),
            ("end_ns", 90),
            ("retry_after_ms", 9),
            ("prompt_tokens", 11),
            ("completion_tokens", 12),
            ("reasoning_tokens", 13),
            ("cached_tokens", 14),
            ("cache_write_tokens", 18),
            ("hangup_ns", 70),
            ("stopped_ns", 80),
        ] {
            assert_eq!(column(name).as_primitive::<Int64Type>().value(0), value, "{name}");
        }
        for (name, value) in [
            ("phase", "warmup"),
            ("response_id", "id"),
            ("outcome", "ok"),
            ("error", "e"),
            ("finish_reason", "stop"),
            ("server_model", "m"),
            ("server_timings", "{}"),
        ] {
            assert_eq!(column(name).as_string::<i32>().value(0), value, "{name}");
        }
        for name in ["connection_reused", "end_marker", "streaming", "kernel_stamped"] {
            assert!(column(name).as_boolean().value(0) && !column(name).as_boolean().value(1), "{name}");
        }
        assert_eq!(column("segment").as_primitive::<UInt32Type>().value(0), 3);
        assert_eq!(column("request_index").as_primitive::<UInt64Type>().value(0), 41);
        assert_eq!(column("session").as_primitive::<UInt64Type>().value(0), 42);
        assert_eq!(column("step").as_primitive::<UInt32Type>().value(0), 43);
        assert_eq!(column("tail_bytes").as_primitive::<UInt64Type>().value(0), 17);
        assert_eq!(column("status").as_primitive::<UInt16Type>().value(0), 200);
        assert_eq!(column("bytes_received").as_primitive::<UInt64Type>().value(0), 15);
        assert_eq!(column("events").as_primitive::<UInt32Type>().value(0), 16);
        assert_eq!(column("text").as_string::<i64>().value(0), "hello words");
    }

    #[test]
    fn lists_arrive_row_by_row() {
        let batch = batch();
        let list = |name: &str, row: usize| batch.column_by_name(name).unwrap().as_list::<i32>().value(row);
        assert_eq!(list("event_ns", 0).as_primitive::<Int64Type>().values(), &[50, 60]);
        assert_eq!(list("event_kind", 0).as_primitive::<UInt8Type>().values(), &[1, 2]);
        assert_eq!(list("event_tokens", 0).as_primitive::<Int32Type>().values(), &[-1, 4]);
        assert_eq!(list("event_bytes", 0).as_primitive::<UInt32Type>().values(), &[5, 6]);
        assert_eq!(
            list("event_coalesced", 0).as_boolean().iter().collect::<Vec<_>>(),
            [Some(false), Some(true)]
        );
        assert_eq!(list("event_ns", 1).len(), 0);
    }

    #[test]
    fn what_is_unknown_is_null() {
        let batch = batch();
        for (field, values) in batch.schema().fields().iter().zip(batch.columns()) {
            assert_eq!(values.is_null(1), field.is_nullable(), "{}", field.name());
            assert!(values.is_valid(0), "{}", field.name());
        }
    }

    #[test]
    fn columns_beyond_the_offsets_are_an_error() {
        let error = check("text", [usize::MAX, 5].into_iter()).unwrap_err();
        assert!(error.to_string().starts_with("column text would hold"));
        assert!(check("text", [5, i32::MAX as usize - 5].into_iter()).is_ok());
    }
}
