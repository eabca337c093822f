"""Lee et al.'s semi-preemptive collector: response times on a drive with a clock."""
