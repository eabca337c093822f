//! What living software will soon overwrite, from Python.

mod postgres;
mod wal;

pub(crate) use postgres::PostgresFollower;
pub(crate) use wal::WalDecoder;
