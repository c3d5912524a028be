//! The router as a whole.
