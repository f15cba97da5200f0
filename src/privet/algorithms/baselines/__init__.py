"""What the papers compare with: earlier private trees, one file each, on the same curtain as ours.

docs/baselines.md has their accuracy beside ours, what each costs, and when one would use it.
"""

from privet.algorithms.baselines.bdpt import BDPTClassifier
from privet.algorithms.baselines.diffp_id3 import DiffPID3Classifier
from privet.algorithms.baselines.dp_df import DPDFClassifier
from privet.algorithms.baselines.dp_forest import DPERTClassifier, DPERTRegressor, DPRFClassifier, DPRFRegressor
from privet.algorithms.baselines.dpgdf import DPGDFClassifier
from privet.algorithms.baselines.mpc_id3 import PMPCID3Classifier
from privet.algorithms.baselines.random_tree import RandomTreeClassifier
from privet.algorithms.baselines.sulq_id3 import SuLQID3Classifier

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
