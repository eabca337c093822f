"""The keys of fio's job files: what becomes of each."""

from __future__ import annotations

_READ = """
rw rwmixread rwmixwrite bs bsrange bssplit bs_unaligned blockalign kb_base random_distribution
percentage_random norandommap random_generator iodepth ioengine numjobs offset offset_increment
size filesize filename fdp dataplacement plids plid_select dp_scheme stonewall thinktime
zonemode nrfiles verify
"""
#: Keys that this package reads.
READ = frozenset(_READ.split())

_LENGTH = """
runtime time_based io_size loops number_ios ramp_time startdelay
"""
#: Keys that say how long fio runs or when: the command's own options do.
LENGTH = frozenset(_LENGTH.split())

#: Keys that say how fast fio sends or how it flushes, with what stands for them.
NEAR = {
    "rate_iops": "requests do not wait here; --arrivals periodic:rate=N is near",
    "rate": "requests do not wait here; --arrivals periodic:rate=N is near",
    "fsync": "no flush is sent here; --flush-every N is near",
    "fdatasync": "no flush is sent here; --flush-every N is near",
    "thinktime_blocks": "no thread pauses here but after each request",
}

_SILENT = """
name description direct buffered group_reporting thread directory invalidate randrepeat
allrandrepeat randseed refill_buffers scramble_buffers zero_buffers buffer_pattern
buffer_compress_percentage buffer_compress_chunk dedupe_percentage end_fsync fsync_on_close
create_on_open create_serialize create_only create_fsync fallocate overwrite unlink
filename_format allow_file_create file_append openfiles sync iodepth_batch iodepth_batch_submit
iodepth_batch_complete iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low hipri
fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored cmd_type userspace_reap
disable_lat disable_clat disable_slat disable_bw_measurement gtod_reduce clat_percentiles
lat_percentiles slat_percentiles percentile_list write_bw_log write_lat_log write_iops_log
write_hist_log log_avg_msec log_hist_msec per_job_logs bwavgtime iopsavgtime cpus_allowed
cpus_allowed_policy cpumask numa_cpu_nodes numa_mem_policy nice prio prioclass ioscheduler
exitall exitall_on_error continue_on_error error_dump exec_prerun exec_postrun norandommap_retry
softrandommap unified_rw_reporting new_group stats write_iolog mem iomem hugepage_size lockfile
pre_read disk_util significant_figures eta_newline uid gid verify_fatal do_verify steadystate
steadystate_duration steadystate_ramp_time
"""
#: Keys that say nothing of operations, places and sizes.
SILENT = frozenset(_SILENT.split())
