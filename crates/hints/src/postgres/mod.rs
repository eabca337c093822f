//! What a PostgreSQL server will soon write, from its log: a record names the blocks that it changes,
//! and a changed block stays in the server's memory until a checkpoint or somebody else writes it.
//!
//! [`Follower`] takes the log and knows the pages of the device that hold old versions of such blocks.
//! Where a page is written the drive sees that itself. Of a page that a checkpoint should have written,
//! and that nobody changed since, the follower takes its word back.

mod follower;
mod places;

pub use follower::{Counts, Follower};
pub use places::{Cluster, Place, Places};
