//! The jobs of one Arrow batch, read in place: which rows are calls of one job, and what each waits for.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, Int64Array, ListArray, PrimitiveArray, RecordBatch, UInt32Array,
    UInt64Array,
};

use crate::error::LoadError;

/// The most calls that a job may have.
pub(crate) const MAX_STEPS: usize = 1_024;

/// The columns of one batch; see docs/design/0002-jobs-protocols-studies.md.
#[derive(Debug)]
struct Columns {
    bodies: BinaryArray,
    indices: Option<UInt64Array>,
    first_index: u64,
    sessions: Option<UInt64Array>,
    after: Option<ListArray>,
    wait_ns: Option<Int64Array>,
    splices: Option<Splices>,
    hangup_ns: Option<Int64Array>,
    start_ns: Option<Int64Array>,
}

/// Column `splices`, taken apart.
#[derive(Debug)]
struct Splices {
    lists: ListArray,
    at: UInt32Array,
    step: UInt32Array,
}

/// The rows of a batch that have not been taken.
#[derive(Debug)]
pub(crate) struct Batch {
    columns: Arc<Columns>,
    next_row: usize,
}

/// One job: rows of a batch that lie together.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    columns: Arc<Columns>,
    first_row: usize,
    steps: usize,
}

/// One call of a job.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    columns: Arc<Columns>,
    row: usize,
    pub(crate) index: u64,
}

impl Batch {
    /// Takes a batch's columns and checks them. `first_index`: of its first row, where it brings no indices.
    pub(crate) fn read(batch: &RecordBatch, first_index: u64) -> Result<Self, LoadError> {
        let column = batch.column_by_name("body").ok_or_else(|| wrong("there is no column `body`"))?;
        let bodies = column.as_binary_opt::<i32>().ok_or_else(|| wrong("column `body` is not binary"))?;
        if bodies.null_count() > 0 {
            return Err(wrong("column `body` has nulls"));
        }
        let columns = Columns {
            bodies: bodies.clone(),
            indices: numbers::<UInt64Type>(batch, "request_index", "uint64", false)?,
            first_index,
            sessions: numbers::<UInt64Type>(batch, "session", "uint64", false)?,
            after: lists(batch, "after")?,
            wait_ns: numbers::<Int64Type>(batch, "wait_ns", "int64", true)?,
            splices: Splices::read(batch)?,
            hangup_ns: numbers::<Int64Type>(batch, "hangup_ns", "int64", true)?,
            start_ns: numbers::<Int64Type>(batch, "start_ns", "int64", true)?,
        };
        if columns
            .after
            .as_ref()
            .is_some_and(|after| after.values().as_primitive_opt::<UInt32Type>().is_none())
        {
            return Err(wrong("column `after` is not a list of uint32"));
        }
        columns.check()?;
        Ok(Self { columns: Arc::new(columns), next_row: 0 })
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.bodies.len() - self.next_row
    }

    /// The index after the batch's last.
    pub(crate) fn next_index(&self) -> u64 {
        self.columns.index(self.columns.bodies.len().saturating_sub(1)) + 1
    }

    /// The next job, which stays where it is.
    pub(crate) fn peek(&self) -> Option<Job> {
        (self.rows() > 0).then(|| Job {
            columns: self.columns.clone(),
            first_row: self.next_row,
            steps: self.columns.steps_from(self.next_row),
        })
    }

    /// Steps over the next job.
    pub(crate) fn advance(&mut self, job: &Job) {
        self.next_row = job.first_row + job.steps;
    }
}

impl Columns {
    fn index(&self, row: usize) -> u64 {
        self.indices.as_ref().map_or(self.first_index + row as u64, |indices| indices.value(row))
    }

    /// Rows from `first` on that belong to one job.
    fn steps_from(&self, first: usize) -> usize {
        let Some(sessions) = &self.sessions else { return 1 };
        let session = sessions.value(first);
        (first..sessions.len()).take_while(|row| sessions.value(*row) == session).count()
    }

    fn check(&self) -> Result<(), LoadError> {
        let mut first = 0;
        while first < self.bodies.len() {
            let steps = self.steps_from(first);
            if steps > MAX_STEPS {
                return Err(wrong(&format!("a job has {steps} calls; at most {MAX_STEPS} are possible")));
            }
            for step in 0..steps {
                self.check_step(first + step, step)?;
            }
            first += steps;
        }
        Ok(())
    }

    fn check_step(&self, row: usize, step: usize) -> Result<(), LoadError> {
        let before = |named: u32| (named as usize) < step;
        if !self.after(row).is_none_or(|mut after| after.all(before)) {
            return Err(wrong(&format!("row {row}: `after` names a step that does not come before")));
        }
        let mut last = 0;
        for (at, named) in self.splices(row) {
            if !before(named) || at < last || at > self.bodies.value(row).len() {
                return Err(wrong(&format!(
                    "row {row}: `splices` must ascend, lie within the body and name steps that come before"
                )));
            }
            last = at;
        }
        let negative = |column: &Option<Int64Array>| {
            column.as_ref().is_some_and(|column| column.is_valid(row) && column.value(row) < 0)
        };
        if negative(&self.wait_ns) || negative(&self.hangup_ns) || negative(&self.start_ns) {
            return Err(wrong(&format!("row {row}: a duration or an instant is negative")));
        }
        Ok(())
    }

    /// What a row waits for; none: the step before it.
    fn after(&self, row: usize) -> Option<impl Iterator<Item = u32>> {
        let list = self.after.as_ref().filter(|after| after.is_valid(row))?.value(row);
        let list = list.as_primitive_opt::<UInt32Type>()?.clone();
        Some((0..list.len()).map(move |i| list.value(i)))
    }

    fn splices(&self, row: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.splices.iter().filter(move |splices| splices.lists.is_valid(row)).flat_map(move |splices| {
            let offsets = splices.lists.value_offsets();
            let place = |offset: i32| usize::try_from(offset).unwrap_or(0);
            (place(offsets[row])..place(offsets[row + 1]))
                .map(|i| (splices.at.value(i) as usize, splices.step.value(i)))
        })
    }
}

impl Splices {
    fn read(batch: &RecordBatch) -> Result<Option<Self>, LoadError> {
        let Some(lists) = lists(batch, "splices")? else { return Ok(None) };
        let form = || wrong("column `splices` is not a list of (at: uint32, step: uint32)");
        let fields = lists.values().as_struct_opt().ok_or_else(form)?;
        let of = |name: &str| {
            let column = fields.column_by_name(name)?.as_primitive_opt::<UInt32Type>()?;
            (column.null_count() == 0).then(|| column.clone())
        };
        let (at, step) = (of("at").ok_or_else(form)?, of("step").ok_or_else(form)?);
        Ok(Some(Self { at, step, lists }))
    }
}

impl Job {
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// The job's number; none where the batch has no column `session`.
    pub(crate) fn session(&self) -> Option<u64> {
        self.columns.sessions.as_ref().map(|sessions| sessions.value(self.first_row))
    }

    pub(crate) fn body(&self, step: usize) -> Body {
        let row = self.first_row + step;
        Body { columns: self.columns.clone(), row, index: self.columns.index(row) }
    }

    /// The steps that must have ended before `step` begins.
    pub(crate) fn after(&self, step: usize) -> Vec<u32> {
        match self.columns.after(self.first_row + step) {
            Some(after) => after.collect(),
            None => u32::try_from(step).ok().and_then(|step| step.checked_sub(1)).into_iter().collect(),
        }
    }

    pub(crate) fn wait_ns(&self, step: usize) -> i64 {
        value(self.columns.wait_ns.as_ref(), self.first_row + step).unwrap_or(0)
    }

    pub(crate) fn hangup_ns(&self, step: usize) -> Option<i64> {
        value(self.columns.hangup_ns.as_ref(), self.first_row + step)
    }

    /// When the job is meant to start, after the run's origin.
    pub(crate) fn start_ns(&self) -> i64 {
        value(self.columns.start_ns.as_ref(), self.first_row).unwrap_or(0)
    }

    /// The steps whose answers are put into later bodies.
    pub(crate) fn carried(&self) -> Vec<bool> {
        let mut carried = vec![false; self.steps];
        for row in self.first_row..self.first_row + self.steps {
            for (_, step) in self.columns.splices(row) {
                carried[step as usize] = true;
            }
        }
        carried
    }
}

impl Body {
    /// Bytes of the body with the answers in their places.
    pub(crate) fn len(&self, answers: &[Option<Vec<u8>>]) -> usize {
        let carried = self
            .columns
            .splices(self.row)
            .map(|(_, step)| answers.get(step as usize).and_then(Option::as_ref).map_or(0, Vec::len));
        self.columns.bodies.value(self.row).len() + carried.sum::<usize>()
    }

    /// Writes the body with the answers in their places; an answer that there is none of is empty.
    pub(crate) fn write(&self, answers: &[Option<Vec<u8>>], out: &mut Vec<u8>) {
        let bytes = self.columns.bodies.value(self.row);
        let mut written = 0;
        for (at, step) in self.columns.splices(self.row) {
            out.extend_from_slice(&bytes[written..at]);
            written = at;
            if let Some(Some(answer)) = answers.get(step as usize) {
                out.extend_from_slice(answer);
            }
        }
        out.extend_from_slice(&bytes[written..]);
    }
}

fn wrong(what: &str) -> LoadError {
    LoadError::Bodies(what.to_owned())
}

fn value(column: Option<&Int64Array>, row: usize) -> Option<i64> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}

fn numbers<T: ArrowPrimitiveType>(
    batch: &RecordBatch,
    name: &str,
    kind: &str,
    nulls: bool,
) -> Result<Option<PrimitiveArray<T>>, LoadError> {
    let Some(column) = batch.column_by_name(name) else { return Ok(None) };
    let column = column.as_primitive_opt::<T>().filter(|column| nulls || column.null_count() == 0);
    let form =
        || wrong(&format!("column `{name}` is not {kind}{}", if nulls { "" } else { " without nulls" }));
    Ok(Some(column.ok_or_else(form)?.clone()))
}

fn lists(batch: &RecordBatch, name: &str) -> Result<Option<ListArray>, LoadError> {
    let Some(column) = batch.column_by_name(name) else { return Ok(None) };
    let form = || wrong(&format!("column `{name}` is not a list"));
    Ok(Some(column.as_list_opt::<i32>().ok_or_else(form)?.clone()))
}
