//! The binary `reverie`.
fn main() {}
