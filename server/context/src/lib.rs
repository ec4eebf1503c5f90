//! What fits into a model's window, how full it is, and in which form things enter it.
//!
//! Values in, values out: never calls a model, never touches the disk.

pub mod budget;
pub mod calibration;
pub mod estimate;
pub mod fragment;
pub mod kind;
pub mod tokenizer;

pub use budget::{Budget, Level};
