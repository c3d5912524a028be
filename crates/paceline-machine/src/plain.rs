//! Tiles in plain loops, for cores whose instructions are not spelled out here: the compiler makes the best of them
//! that it can, with the features of the function that they are put into.

use std::hint::black_box;

use crate::arithmetic::Tiles;

const ROWS: usize = 4;
const COLUMNS: usize = 4;
const DEPTH: usize = 1_024;

#[inline(always)]
pub(crate) fn f32_tiles(number: u64) -> Tiles {
    const LANES: usize = 4;
    let (a, b) = ([[[3.0_f32; LANES]; DEPTH / LANES]; ROWS], [[[-2.0_f32; LANES]; DEPTH / LANES]; COLUMNS]);
    let mut sum = 0.0;
    for _ in 0..number {
        let (a, b) = (black_box(&a), black_box(&b));
        let mut found = [[[0.0_f32; LANES]; COLUMNS]; ROWS];
        for step in 0..DEPTH / LANES {
            for (row, a) in found.iter_mut().zip(a) {
                for (lanes, b) in row.iter_mut().zip(b) {
                    for ((lane, a), b) in lanes.iter_mut().zip(&a[step]).zip(&b[step]) {
                        *lane = fused(*a, *b, *lane);
                    }
                }
            }
        }
        sum += f64::from(black_box(found)[0][0][0]);
    }
    tiles(number, sum)
}

/// One rounding where the core has an instruction for it everywhere, two elsewhere: without one, it would be a call.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
pub(crate) fn int8_tiles(number: u64) -> Tiles {
    let (a, b) = ([[3_i8; DEPTH]; ROWS], [[-2_i8; DEPTH]; COLUMNS]);
    let mut sum = 0.0;
    for _ in 0..number {
        let (a, b) = (black_box(&a), black_box(&b));
        let mut found = [[0_i32; COLUMNS]; ROWS];
        for (row, a) in found.iter_mut().zip(a) {
            for (one, b) in row.iter_mut().zip(b) {
                *one = a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            }
        }
        sum += f64::from(black_box(found)[0][0]);
    }
    tiles(number, sum)
}

fn tiles(number: u64, sum: f64) -> Tiles {
    Tiles { instructions: "plain", operations: number * (ROWS * COLUMNS * DEPTH * 2) as u64, sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_tiles_multiply_all_pairs() {
        assert!((f32_tiles(3).sum - 3.0 * -6.0 * 256.0).abs() < 1e-9);
        assert!((int8_tiles(3).sum - 3.0 * -6.0 * 1_024.0).abs() < 1e-9);
        assert_eq!(int8_tiles(3).operations, 3 * 4 * 4 * 1_024 * 2);
    }
}
