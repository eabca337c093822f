//! The pages that a PostgreSQL server will soon write, from its log. A record names the blocks that it
//! changes, and a changed block stays in the server's memory until a checkpoint or another process
//! writes it.
//!
//! [`LogFollower`] takes the log and knows the pages of the device that hold old versions of such blocks.
//! The drive sees by itself when a page is written. A page that a checkpoint should have written, and
//! that nobody has changed since, is cancelled.

mod follower;
mod places;

pub use follower::{LogCounts, LogFollower};
pub use places::{Cluster, Place, Places};
