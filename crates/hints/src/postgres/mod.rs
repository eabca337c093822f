//! Finds the pages that a PostgreSQL server will soon write, from its log. A record names the
//! blocks that it changes. A changed block stays in the server's memory until a checkpoint or
//! another process writes it.
//!
//! [`LogFollower`] reads the log and reports the pages of the device that hold old versions of such
//! blocks. The drive notices itself when a page is written. A completed checkpoint has written all
//! blocks that were changed before it began. So their pages are cancelled, except those that were
//! changed again since then.

mod follower;
mod places;

pub use follower::{LogCounts, LogFollower};
pub use places::{Cluster, Place, Places};
