//! Memory that no cache holds, gone through by all threads at once: each through arrays of its own.

use std::hint::black_box;
use std::time::Duration;

use multiversion::multiversion;

use crate::together::{MachineError, Stretch, stretches};

/// Elements of one piece of work, 2 MiB of each array: a fraction of a millisecond.
const PIECE: usize = 1 << 18;
const ELEMENT_BYTES: usize = size_of::<f64>();
const SCALE: f64 = 3.0;

/// A way through memory. Bytes are counted as STREAM does (McCalpin 1995): what the program reads and writes; that
/// a cache reads a line before it writes to it is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// One array is read.
    Read,
    /// One array is read, another written.
    Copy,
    /// Two arrays are read, a third is written: `a[i] = b[i] + scale * c[i]`.
    Triad,
}

impl Pass {
    /// `read`, `copy` or `triad`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "read" => Some(Self::Read),
            "copy" => Some(Self::Copy),
            "triad" => Some(Self::Triad),
            _ => None,
        }
    }

    const fn arrays(self) -> usize {
        match self {
            Self::Read => 1,
            Self::Copy => 2,
            Self::Triad => 3,
        }
    }
}

/// Bytes a second, stretch by stretch. `bytes`: of all arrays of one thread.
///
/// # Errors
///
/// For fewer bytes than one piece of each array takes, memory or threads that cannot be had, and when `keep_on`
/// says no.
#[allow(clippy::cast_precision_loss)]
pub fn memory_rates(
    pass: Pass,
    threads: usize,
    bytes: usize,
    span: Duration,
    keep_on: impl FnMut() -> bool,
) -> Result<Vec<Stretch>, MachineError> {
    let piece_bytes = PIECE * ELEMENT_BYTES * pass.arrays();
    if bytes < piece_bytes {
        return Err(MachineError::TooShort(bytes, piece_bytes));
    }
    let elements = bytes / piece_bytes * PIECE;
    stretches(
        threads,
        span,
        piece_bytes as f64,
        || Arrays::new(pass, elements).map(|mut one| move || one.work()),
        keep_on,
    )
}

/// The arrays of one thread, and where it is in them.
struct Arrays {
    pass: Pass,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    at: usize,
}

impl Arrays {
    fn new(pass: Pass, elements: usize) -> Result<Self, MachineError> {
        let of = |number: usize| if number < pass.arrays() { filled(elements) } else { Ok(Vec::new()) };
        Ok(Self { pass, a: of(0)?, b: of(1)?, c: of(2)?, at: 0 })
    }

    /// Goes through one piece, the next in order.
    fn work(&mut self) {
        let piece = self.at..self.at + PIECE;
        self.at = if piece.end == self.a.len() { 0 } else { piece.end };
        let a = &mut self.a[piece.clone()];
        match self.pass {
            Pass::Read => {
                black_box(read(a));
            }
            Pass::Copy => a.copy_from_slice(&self.b[piece]),
            Pass::Triad => triad(a, &self.b[piece.clone()], &self.c[piece]),
        }
        black_box(a);
    }
}

/// Written to, element by element: memory that nobody wrote to is one page of zeros, which lies in a cache.
fn filled(elements: usize) -> Result<Vec<f64>, MachineError> {
    let mut array = Vec::new();
    array.try_reserve_exact(elements).map_err(|_| MachineError::Memory(elements * ELEMENT_BYTES))?;
    array.resize(elements, black_box(1.5));
    Ok(array)
}

/// Every bit counts, so that nothing can be left unread, and the order does not matter, so that it runs as wide as
/// the core can.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn read(array: &[f64]) -> u64 {
    array.iter().fold(0, |sum, one| sum ^ one.to_bits())
}

#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + SCALE * c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_goes_through_all_of_its_arrays_and_begins_again() {
        for (pass, written) in [(Pass::Copy, 2.5), (Pass::Triad, 1.5 + SCALE * 4.5)] {
            let mut one = Arrays::new(pass, 2 * PIECE).unwrap();
            one.b.fill(if pass == Pass::Copy { 2.5 } else { 1.5 });
            one.c.fill(4.5);
            one.work();
            assert!(one.a[..PIECE].iter().all(|&a| a == written));
            assert!(one.a[PIECE..].iter().all(|&a| a == 1.5));
            one.work();
            assert!(one.a.iter().all(|&a| a == written));
            assert_eq!(one.at, 0);
        }
    }

    #[test]
    fn reading_misses_no_element() {
        let mut array = filled(PIECE).unwrap();
        assert_eq!(read(&array), 0);
        for at in [0, 1, 12_345, PIECE - 1] {
            let before = std::mem::replace(&mut array[at], -0.25);
            assert_eq!(read(&array), before.to_bits() ^ (-0.25_f64).to_bits());
            array[at] = before;
        }
    }

    #[test]
    fn too_little_memory_to_be_memory_is_refused() {
        let found = memory_rates(Pass::Triad, 1, PIECE * ELEMENT_BYTES, Duration::from_millis(1), || true);
        assert!(matches!(found, Err(MachineError::TooShort(_, _))));
    }

    #[test]
    fn more_memory_than_there_is_is_refused() {
        let found = memory_rates(Pass::Read, 2, usize::MAX / 2, Duration::from_millis(1), || true);
        assert!(matches!(found, Err(MachineError::Memory(_))));
    }

    #[test]
    fn names_are_those_of_the_passes() {
        assert_eq!(Pass::from_name("read"), Some(Pass::Read));
        assert_eq!(Pass::from_name("triad"), Some(Pass::Triad));
        assert_eq!(Pass::from_name("scale"), None);
    }
}
