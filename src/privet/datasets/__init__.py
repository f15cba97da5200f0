"""Loaders, and the small data set that ships with the package."""

from privet.datasets.adult import Dataset, load_adult

__all__ = ["Dataset", "load_adult"]
