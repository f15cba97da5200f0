"""What the papers compare with: earlier private trees, one file each, on the same curtain as ours.

docs/baselines.md has their accuracy beside ours, what each costs, and when one would use it. All are used alike:

>>> from privet.datasets import load_adult
>>> X, y, schema = load_adult()
>>> for kind in (BDPTClassifier, DPDFClassifier, DPERTClassifier, DPGDFClassifier):
...     model = kind(schema, epsilon=1).fit(X, y)
...     print(bool(model.score(X, y) > 0.7), model.privacy_.epsilon <= 1, model.verify())
True True True
True True True
True True True
True True True
>>> for kind in (PMPCID3Classifier, SuLQID3Classifier, DiffPID3Classifier, RandomTreeClassifier):
...     model = kind(schema, epsilon=1, max_depth=2).fit(X, y)
...     print(bool(model.score(X, y) > 0.7), model.privacy_.epsilon <= 1, model.verify())
True True True
True True True
True True True
True True True
"""

from privet.algorithms.baselines.bdpt import BDPTClassifier
from privet.algorithms.baselines.dp_df import DPDFClassifier
from privet.algorithms.baselines.dp_forest import DPERTClassifier, DPERTRegressor, DPRFClassifier, DPRFRegressor
from privet.algorithms.baselines.dpgdf import DPGDFClassifier
from privet.algorithms.baselines.id3 import DiffPID3Classifier, SuLQID3Classifier
from privet.algorithms.baselines.mpc_id3 import PMPCID3Classifier
from privet.algorithms.baselines.random_tree import RandomTreeClassifier

__all__ = [
    "BDPTClassifier",
    "DPDFClassifier",
    "DPERTClassifier",
    "DPERTRegressor",
    "DPGDFClassifier",
    "DPRFClassifier",
    "DPRFRegressor",
    "DiffPID3Classifier",
    "PMPCID3Classifier",
    "RandomTreeClassifier",
    "SuLQID3Classifier",
]
