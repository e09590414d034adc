//! The language server: the only place that knows the protocol.
