//! Multiply-adds on numbers that lie in the nearest cache, by the widest instructions that this core has: what a
//! product of matrices could reach if nothing held it up.

use std::hint::black_box;
use std::time::Duration;

use multiversion::{multiversion, target::match_target};

use crate::plain;
use crate::together::{MachineError, Stretch, stretches};
#[cfg(target_arch = "x86_64")]
use crate::x86;

/// Tiles of one piece of work: some tens of microseconds.
const PIECE: u64 = 1_000;

/// A kind of number that is multiplied and added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Single precision.
    F32,
    /// Brain floats, added up in single precision.
    Bf16,
    /// Bytes, added up in 32 bits.
    Int8,
}

impl Kind {
    /// `f32`, `bf16` or `int8`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "f32" => Some(Self::F32),
            "bf16" => Some(Self::Bf16),
            "int8" => Some(Self::Int8),
            _ => None,
        }
    }

    fn tiles(self, number: u64) -> Option<Tiles> {
        match self {
            Self::F32 => Some(f32_tiles(number)),
            Self::Bf16 => bf16_tiles(number),
            Self::Int8 => Some(int8_tiles(number)),
        }
    }
}

/// What so many tiles were. `operations`: of all of them, a multiply-add counted as two. `sum`: some of the
/// results, so that none is left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tiles {
    pub(crate) instructions: &'static str,
    pub(crate) operations: u64,
    pub(crate) sum: f64,
}

/// The instructions by which this machine is measured; `None` for a kind that it has none for.
///
/// `plain`: whatever the compiler made of it, of which no more is known than that it is a lower bound.
#[must_use]
pub fn instructions(kind: Kind) -> Option<&'static str> {
    kind.tiles(0).map(|tiles| tiles.instructions)
}

/// Operations a second, stretch by stretch; `None` for a kind that this machine has no instructions for.
///
/// # Errors
///
/// For threads that cannot be had, and when `keep_on` says no.
#[allow(clippy::cast_precision_loss)]
pub fn arithmetic_rates(
    kind: Kind,
    threads: usize,
    span: Duration,
    keep_on: impl FnMut() -> bool,
) -> Result<Option<Vec<Stretch>>, MachineError> {
    let Some(one) = kind.tiles(1) else { return Ok(None) };
    let work = || {
        black_box(kind.tiles(black_box(PIECE)).map(|tiles| tiles.sum));
    };
    stretches(threads, span, (one.operations * PIECE) as f64, || Ok(work), keep_on).map(Some)
}

#[multiversion(targets("x86_64+avx512f", "x86_64+avx2+fma", "aarch64+neon"))]
fn f32_tiles(number: u64) -> Tiles {
    match_target! {
        "x86_64+avx512f" => x86::f32_512(number),
        "x86_64+avx2+fma" => x86::f32_256(number),
        _ => plain::f32_tiles(number),
    }
}

/// Without instructions of their own such numbers are widened and computed as single precision.
#[multiversion(targets("x86_64+avx512f+avx512bf16"))]
fn bf16_tiles(number: u64) -> Option<Tiles> {
    match_target! {
        "x86_64+avx512f+avx512bf16" => Some(x86::bf16_512(number)),
        _ => {
            let _ = number;
            None
        },
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512vnni",
    "x86_64+avx2+avxvnni",
    "x86_64+avx2",
    "aarch64+dotprod"
))]
fn int8_tiles(number: u64) -> Tiles {
    match_target! {
        "x86_64+avx512f+avx512vnni" => x86::int8_512(number),
        "x86_64+avx2+avxvnni" => x86::int8_256(number),
        "x86_64+avx2" => x86::int8_avx2(number),
        _ => plain::int8_tiles(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 3] = [Kind::F32, Kind::Bf16, Kind::Int8];

    #[test]
    fn every_tile_computes_what_it_counts() {
        for kind in KINDS {
            let Some(one) = kind.tiles(1) else { continue };
            let many = kind.tiles(10).unwrap();
            assert_eq!(many.operations, 10 * one.operations, "{kind:?}");
            // `sum` is of one lane: each multiply-add in it gave 3 * -2.
            assert!((many.sum - 10.0 * one.sum).abs() < 1e-9, "{kind:?}: {} {}", one.sum, many.sum);
            assert!(one.sum < 0.0 && (one.sum / 6.0).fract() == 0.0, "{kind:?}: {}", one.sum);
        }
    }

    #[test]
    fn kinds_go_by_their_names() {
        for (name, kind) in ["f32", "bf16", "int8"].into_iter().zip(KINDS) {
            assert_eq!(Kind::from_name(name), Some(kind));
        }
        assert_eq!(Kind::from_name("f64"), None);
    }

    #[test]
    fn a_machine_says_by_what_it_computes() {
        assert!(instructions(Kind::F32).is_some() && instructions(Kind::Int8).is_some());
    }
}
