"""Job files of fio, and what they mean as workloads of flashgc.

``jobs`` reads the file into sections of settings, by the rules of fio's own reader. ``values``
reads numbers, sizes and lists. ``keys`` says what becomes of each key. ``parts`` makes the
generators of one section. ``plans`` joins sections into one workload, and says what it cannot say.
Nothing here simulates, and fio is not needed.
"""
