"""The crash campaign: a drive is cut off in every way at hand, and must keep what it promised.

Its levels stand in :mod:`flashgc.device.campaign.levels`. Those in memory run in Rust; the others
work with processes that are killed and with file systems that are mounted, in a folder of their
own (:mod:`flashgc.device.scratch`).
"""
