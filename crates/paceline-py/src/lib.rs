//! The binding: the only crate that knows of Python.
