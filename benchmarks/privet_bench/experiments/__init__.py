"""Experiments: a module for each paper and for each kind of question of ours. Every module has ``EXPERIMENTS``."""
