//! Bytes and instants in, one record a request out.
