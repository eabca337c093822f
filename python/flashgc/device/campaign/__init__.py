"""The crash campaign: a drive is killed or loses power in many ways, and must keep its promises.

:mod:`flashgc.device.campaign.levels` lists its levels. Some run in memory, in Rust. The others kill
processes and mount file systems, in a folder of their own (:mod:`flashgc.device.scratch`).
"""
