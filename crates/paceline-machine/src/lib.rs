//! What this machine's cores move and compute in a second, all at once: memory read, copied and combined, and
//! multiply-adds in the kinds of numbers that engines compute in.
//!
//! There is no `unsafe` here: the wide instructions are reached through functions that are compiled for them, and
//! the choice among those while running is `multiversion`'s.

mod arithmetic;
mod memory;
mod plain;
mod together;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use arithmetic::{Kind, arithmetic_rates, instructions};
pub use memory::{Pass, memory_rates};
pub use together::{MachineError, Stretch};
