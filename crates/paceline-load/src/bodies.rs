//! The queue of request bodies: filled by Python, emptied by the load threads, never copied in between.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, BinaryArray, RecordBatch};

use crate::error::LoadError;

/// One body: a row of an Arrow batch.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) index: u64,
    array: Arc<BinaryArray>,
    row: usize,
}

impl Body {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.array.value(self.row)
    }
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    next_index: u64,
    rows: usize,
    closed: bool,
}

#[derive(Debug)]
struct Batch {
    bodies: Arc<BinaryArray>,
    indices: Option<Vec<u64>>,
    first_index: u64,
    next_row: usize,
}

/// What a taker gets.
#[derive(Debug)]
pub(crate) enum Taken {
    Body(Body),
    /// None now; more may come.
    Empty,
    /// None, and none will come.
    Closed,
}

#[derive(Debug, Default)]
pub(crate) struct Bodies(Mutex<Queue>);

impl Bodies {
    pub(crate) fn new(first_index: u64) -> Self {
        Self(Mutex::new(Queue { next_index: first_index, ..Queue::default() }))
    }

    /// Appends the rows of a batch: column `body: binary`, and `request_index: uint64` where the indices do not
    /// simply go on.
    pub(crate) fn push(&self, batch: &RecordBatch) -> Result<(), LoadError> {
        let wrong = |what: &str| LoadError::Bodies(what.to_owned());
        let column = batch.column_by_name("body").ok_or_else(|| wrong("there is no column `body`"))?;
        let bodies = column.as_binary_opt::<i32>().ok_or_else(|| wrong("column `body` is not binary"))?;
        if bodies.null_count() > 0 {
            return Err(wrong("column `body` has nulls"));
        }
        let indices = match batch.column_by_name("request_index") {
            None => None,
            Some(column) => Some(
                column
                    .as_primitive_opt::<UInt64Type>()
                    .filter(|indices| indices.null_count() == 0)
                    .ok_or_else(|| wrong("column `request_index` is not uint64 without nulls"))?
                    .values()
                    .to_vec(),
            ),
        };
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return Err(wrong("the input is closed"));
        }
        let first_index = queue.next_index;
        queue.next_index = indices
            .as_ref()
            .and_then(|indices| indices.last().map(|last| last + 1))
            .unwrap_or(first_index + bodies.len() as u64);
        queue.rows += bodies.len();
        queue.batches.push_back(Batch {
            bodies: Arc::new(bodies.clone()),
            indices,
            first_index,
            next_row: 0,
        });
        Ok(())
    }

    pub(crate) fn take(&self) -> Taken {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(batch) = queue.batches.front_mut() else {
                return if queue.closed { Taken::Closed } else { Taken::Empty };
            };
            let row = batch.next_row;
            if row == batch.bodies.len() {
                queue.batches.pop_front();
                continue;
            }
            batch.next_row += 1;
            let index = batch.indices.as_ref().map_or(batch.first_index + row as u64, |indices| indices[row]);
            let body = Body { index, array: batch.bodies.clone(), row };
            queue.rows -= 1;
            return Taken::Body(body);
        }
    }

    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, UInt64Array};

    fn batch(bodies: &[&str], indices: Option<&[u64]>) -> RecordBatch {
        let mut columns: Vec<(&str, ArrayRef)> = vec![(
            "body",
            Arc::new(BinaryArray::from_iter_values(bodies.iter().map(|body| body.as_bytes()))),
        )];
        if let Some(indices) = indices {
            columns.push(("request_index", Arc::new(UInt64Array::from(indices.to_vec()))));
        }
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn bodies_come_out_in_order_with_their_indices() {
        let queue = Bodies::new(7);
        queue.push(&batch(&["a", "b"], None)).unwrap();
        queue.push(&batch(&["c", "d"], Some(&[20, 30]))).unwrap();
        queue.push(&batch(&["e"], None)).unwrap();
        assert_eq!(queue.len(), 5);
        let mut got = Vec::new();
        while let Taken::Body(body) = queue.take() {
            got.push((body.index, String::from_utf8(body.bytes().to_vec()).unwrap()));
        }
        let expected = [(7, "a"), (8, "b"), (20, "c"), (30, "d"), (31, "e")];
        assert_eq!(got, expected.map(|(index, body)| (index, body.to_owned())));
        assert!(matches!(queue.take(), Taken::Empty));
        queue.close();
        assert!(matches!(queue.take(), Taken::Closed));
        assert!(queue.push(&batch(&["f"], None)).is_err());
    }

    #[test]
    fn a_batch_of_another_form_is_refused() {
        let queue = Bodies::new(0);
        let text: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["a"]));
        assert!(queue.push(&RecordBatch::try_from_iter([("body", text.clone())]).unwrap()).is_err());
        assert!(queue.push(&RecordBatch::try_from_iter([("other", text)]).unwrap()).is_err());
    }
}
