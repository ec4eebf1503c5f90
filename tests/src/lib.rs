//! Tests over the whole.
