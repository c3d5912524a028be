//! The queue of jobs: filled by Python, emptied by the load threads, never copied in between.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;

use crate::error::LoadError;
use crate::jobs::{Batch, Job};

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    next_index: u64,
    rows: usize,
    closed: bool,
}

/// What a taker gets.
#[derive(Debug)]
pub(crate) enum Taken {
    Job(Job),
    /// The next job is not due before this instant after the origin.
    Later(i64),
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

    /// Appends the rows of a batch: column `body: binary`, and what else the design notes name.
    pub(crate) fn push(&self, batch: &RecordBatch) -> Result<(), LoadError> {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return Err(LoadError::Bodies("the input is closed".to_owned()));
        }
        let batch = Batch::read(batch, queue.next_index)?;
        if batch.rows() > 0 {
            queue.next_index = batch.next_index();
            queue.rows += batch.rows();
            queue.batches.push_back(batch);
        }
        Ok(())
    }

    /// The next job, if it is due `now_ns` after the origin.
    pub(crate) fn take(&self, now_ns: i64) -> Taken {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(batch) = queue.batches.front_mut() else {
                return if queue.closed { Taken::Closed } else { Taken::Empty };
            };
            let Some(job) = batch.peek() else {
                queue.batches.pop_front();
                continue;
            };
            if job.start_ns() > now_ns {
                return Taken::Later(job.start_ns());
            }
            batch.advance(&job);
            queue.rows -= job.steps();
            return Taken::Job(job);
        }
    }

    /// Jobs in the queue that are due before an instant after the origin.
    pub(crate) fn due_before(&self, until_ns: i64) -> u64 {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = 0;
        while let Some(batch) = queue.batches.front_mut() {
            let Some(job) = batch.peek() else {
                queue.batches.pop_front();
                continue;
            };
            if job.start_ns() >= until_ns {
                break;
            }
            batch.advance(&job);
            queue.rows -= job.steps();
            due += 1;
        }
        due
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
    use arrow_array::builder::{ListBuilder, StructBuilder, UInt32Builder};
    use arrow_array::{ArrayRef, BinaryArray, Int64Array, UInt64Array};
    use arrow_schema::{DataType, Field};
    use std::sync::Arc;

    fn bodies(bodies: &[&str]) -> ArrayRef {
        Arc::new(BinaryArray::from_iter_values(bodies.iter().map(|body| body.as_bytes())))
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn numbers(values: &[u64]) -> ArrayRef {
        Arc::new(UInt64Array::from(values.to_vec()))
    }

    fn text(job: &Job, step: usize, answers: &[Option<Vec<u8>>]) -> String {
        let mut out = Vec::new();
        job.body(step).write(answers, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn splices(rows: &[&[(u32, u32)]]) -> ArrayRef {
        let fields = ["at", "step"].map(|name| Field::new(name, DataType::UInt32, false));
        let columns = [UInt32Builder::new(), UInt32Builder::new()].map(|b| Box::new(b) as _);
        let mut lists = ListBuilder::new(StructBuilder::new(fields.to_vec(), columns.into_iter().collect()));
        for row in rows {
            for (at, step) in *row {
                let values = lists.values();
                values.field_builder::<UInt32Builder>(0).unwrap().append_value(*at);
                values.field_builder::<UInt32Builder>(1).unwrap().append_value(*step);
                values.append(true);
            }
            lists.append(true);
        }
        Arc::new(lists.finish())
    }

    #[test]
    fn bodies_come_out_in_order_with_their_indices() {
        let queue = Bodies::new(7);
        queue.push(&batch(vec![("body", bodies(&["a", "b"]))])).unwrap();
        let indexed = vec![("body", bodies(&["c", "d"])), ("request_index", numbers(&[20, 30]))];
        queue.push(&batch(indexed)).unwrap();
        queue.push(&batch(vec![("body", bodies(&["e"]))])).unwrap();
        assert_eq!(queue.len(), 5);
        let mut got = Vec::new();
        while let Taken::Job(job) = queue.take(0) {
            assert_eq!((job.steps(), job.session()), (1, None));
            got.push((job.body(0).index, text(&job, 0, &[])));
        }
        let expected = [(7, "a"), (8, "b"), (20, "c"), (30, "d"), (31, "e")];
        assert_eq!(got, expected.map(|(index, body)| (index, body.to_owned())));
        assert!(matches!(queue.take(0), Taken::Empty));
        queue.close();
        assert!(matches!(queue.take(0), Taken::Closed));
        assert!(queue.push(&batch(vec![("body", bodies(&["f"]))])).is_err());
    }

    #[test]
    fn the_rows_of_a_job_come_out_together_with_answers_in_their_places() {
        let queue = Bodies::new(0);
        queue
            .push(&batch(vec![
                ("body", bodies(&["one", "<>two<>", "x"])),
                ("session", numbers(&[5, 5, 9])),
                ("splices", splices(&[&[], &[(1, 0), (6, 0)], &[]])),
            ]))
            .unwrap();
        let Taken::Job(job) = queue.take(0) else { panic!("no job") };
        assert_eq!((job.steps(), job.session(), job.carried()), (2, Some(5), vec![true, false]));
        assert_eq!((job.after(0), job.after(1)), (vec![], vec![0]));
        assert_eq!(text(&job, 1, &[Some(b"A".to_vec()), None]), "<A>two<A>");
        assert_eq!(text(&job, 1, &[None, None]), "<>two<>");
        let Taken::Job(job) = queue.take(0) else { panic!("no job") };
        assert_eq!((job.steps(), job.session(), queue.len()), (1, Some(9), 0));
    }

    #[test]
    fn a_job_waits_for_its_instant_and_what_is_overdue_is_counted() {
        let queue = Bodies::new(0);
        let start: ArrayRef = Arc::new(Int64Array::from(vec![10, 20, 30]));
        queue.push(&batch(vec![("body", bodies(&["a", "b", "c"])), ("start_ns", start)])).unwrap();
        assert!(matches!(queue.take(9), Taken::Later(10)));
        assert!(matches!(queue.take(10), Taken::Job(_)));
        assert_eq!(queue.due_before(30), 1);
        assert!(matches!(queue.take(29), Taken::Later(30)));
    }

    #[test]
    fn a_batch_of_another_form_is_refused() {
        let queue = Bodies::new(0);
        let strings: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["a"]));
        let own = || ("body", bodies(&["ab", "cd"]));
        for columns in [
            vec![("body", strings.clone())],
            vec![("other", strings.clone())],
            vec![("body", bodies(&["a"])), ("session", strings.clone())],
            vec![("body", bodies(&["a"])), ("after", strings)],
            vec![own(), ("session", numbers(&[1, 1])), ("splices", splices(&[&[], &[(3, 0)]]))],
            vec![own(), ("session", numbers(&[1, 1])), ("splices", splices(&[&[], &[(1, 1)]]))],
            vec![own(), ("session", numbers(&[1, 2])), ("splices", splices(&[&[], &[(1, 0)]]))],
            vec![own(), ("session", numbers(&[1, 1])), ("splices", splices(&[&[], &[(2, 0), (1, 0)]]))],
            vec![own(), ("wait_ns", Arc::new(Int64Array::from(vec![0, -1])) as ArrayRef)],
        ] {
            let named = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>();
            assert!(queue.push(&batch(columns)).is_err(), "{named:?}");
        }
        let many = vec![("body", bodies(&["a"; 1_025])), ("session", numbers(&[1; 1_025]))];
        assert!(queue.push(&batch(many)).is_err());
    }
}
