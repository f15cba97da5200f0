"""Share arrays, their engine and the links between servers. Semi-honest, honest majority, not independently reviewed.

Three servers hold integers as secret shares: what one server sees is random whatever the integers are. ``engine.py`` is
the interface that programs are written against, ``replicated.py`` and ``binary.py`` the engine, written to be read.
Tests run the same programs on MPyC. Nothing in here draws noise or knows a record.
"""
