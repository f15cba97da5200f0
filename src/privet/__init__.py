"""Differentially private decision trees and forests, with receipts you can check.

Names are loaded on first use, so that ``import privet`` stays quick.
"""
