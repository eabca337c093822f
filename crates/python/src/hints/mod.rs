//! What living software will soon overwrite, from Python.

mod wal;

pub(crate) use wal::WalDecoder;
