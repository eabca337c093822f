//! All tests of the crate as one program: a module for each file, and what they share.

mod hosts;
mod streams;
