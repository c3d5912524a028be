//! Tiles by the instructions of x86-64: dot products of rows of one small matrix with rows of another, whose sums
//! stay in registers.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512bh, __m512i, _mm256_add_epi32, _mm256_add_ps, _mm256_cvtss_f32,
    _mm256_dpbusd_avx_epi32, _mm256_extract_epi32, _mm256_fmadd_ps, _mm256_madd_epi16, _mm256_maddubs_epi16,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256,
    _mm512_add_epi32, _mm512_add_ps, _mm512_cvtne2ps_pbh, _mm512_cvtsi512_si32, _mm512_cvtss_f32,
    _mm512_dpbf16_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_set1_epi8, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_setzero_si512,
};
use std::hint::black_box;

use crate::arithmetic::Tiles;

/// Vectors of a row: all rows together lie in the nearest cache.
const DEPTH: usize = 16;

/// A function of so many tiles. `products`: multiply-adds of one instruction (or of the few that do its work).
macro_rules! tiles {
    (
        $name:ident, $features:literal, $says:literal, $rows:literal x $columns:literal, products $products:literal,
        $numbers:ty, $three:expr, $minus_two:expr, $zero:expr, $dot:ident, $add:ident, $lane:ident
    ) => {
        #[target_feature(enable = $features)]
        pub(crate) fn $name(number: u64) -> Tiles {
            let a: [[$numbers; DEPTH]; $rows] = [[$three; DEPTH]; $rows];
            let b: [[$numbers; DEPTH]; $columns] = [[$minus_two; DEPTH]; $columns];
            let mut sum = 0.0;
            for _ in 0..number {
                // Both could have changed, as far as the compiler knows: they are read anew for each tile.
                let (a, b) = (black_box(&a), black_box(&b));
                let mut found = [[$zero; $columns]; $rows];
                for step in 0..DEPTH {
                    for (row, a) in found.iter_mut().zip(a) {
                        for (one, b) in row.iter_mut().zip(b) {
                            *one = $dot(*one, a[step], b[step]);
                        }
                    }
                }
                let mut total = $zero;
                for one in found.into_iter().flatten() {
                    total = $add(total, one);
                }
                sum += f64::from($lane(total));
            }
            let operations = number * ($rows * $columns * DEPTH * $products * 2) as u64;
            Tiles { instructions: $says, operations, sum }
        }
    };
}

tiles!(
    int8_512, "avx2,avx512f,avx512vnni", "vpdpbusd, 512 bits", 4 x 4, products 64,
    __m512i, _mm512_set1_epi8(3), _mm512_set1_epi8(-2), _mm512_setzero_si512(),
    _mm512_dpbusd_epi32, _mm512_add_epi32, _mm512_cvtsi512_si32
);
tiles!(
    int8_256, "avx2,avxvnni", "vpdpbusd, 256 bits", 4 x 2, products 32,
    __m256i, _mm256_set1_epi8(3), _mm256_set1_epi8(-2), _mm256_setzero_si256(),
    _mm256_dpbusd_avx_epi32, _mm256_add_epi32, first_i32
);
tiles!(
    int8_avx2, "avx2", "vpmaddubsw and vpmaddwd, 256 bits", 4 x 2, products 32,
    __m256i, _mm256_set1_epi8(3), _mm256_set1_epi8(-2), _mm256_setzero_si256(),
    dot_avx2, _mm256_add_epi32, first_i32
);
tiles!(
    bf16_512, "avx2,avx512f,avx512bf16", "vdpbf16ps, 512 bits", 4 x 4, products 32,
    __m512bh, bf16(3.0), bf16(-2.0), _mm512_setzero_ps(),
    _mm512_dpbf16_ps, _mm512_add_ps, _mm512_cvtss_f32
);
tiles!(
    f32_512, "avx2,avx512f", "vfmadd, 512 bits", 4 x 4, products 16,
    __m512, _mm512_set1_ps(3.0), _mm512_set1_ps(-2.0), _mm512_setzero_ps(),
    fused_512, _mm512_add_ps, _mm512_cvtss_f32
);
tiles!(
    f32_256, "avx2,fma", "vfmadd, 256 bits", 4 x 3, products 8,
    __m256, _mm256_set1_ps(3.0), _mm256_set1_ps(-2.0), _mm256_setzero_ps(),
    fused_256, _mm256_add_ps, _mm256_cvtss_f32
);

/// What there was before `vpdpbusd`. Sums of two products must fit into 16 bits: those of 3 and -2 do.
#[target_feature(enable = "avx2")]
fn dot_avx2(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)))
}

#[target_feature(enable = "avx2")]
fn first_i32(lanes: __m256i) -> i32 {
    _mm256_extract_epi32::<0>(lanes)
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn bf16(value: f32) -> __m512bh {
    _mm512_cvtne2ps_pbh(_mm512_set1_ps(value), _mm512_set1_ps(value))
}

#[target_feature(enable = "avx512f")]
fn fused_512(sum: __m512, a: __m512, b: __m512) -> __m512 {
    _mm512_fmadd_ps(a, b, sum)
}

#[target_feature(enable = "avx2,fma")]
fn fused_256(sum: __m256, a: __m256, b: __m256) -> __m256 {
    _mm256_fmadd_ps(a, b, sum)
}
