"""Every table and figure, re-run by one command: ``benchmarks/privet-bench list | run | table | plot | page``.

An experiment is declared in ``experiments/``: its data, methods, settings, split and measures, and the numbers that a
paper printed. The runner makes one fit at a time out of it and keeps each result in the store, ``results.parquet``,
with its seed and commit. Tables, plots and the page of the docs are read from the store alone.
"""
