"""Runs in diffprivlib's own environment: private logistic regression as PrivaTree's authors ran it.

Each line on stdin names a file of arrays, an epsilon and a number of fits; the answer is the accuracy of each. Columns
are centred and scaled by the training records, and the longest row bounds the norm: both read the records, so what
diffprivlib promises does not hold. It is what was printed.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

for line in sys.stdin:
    task = json.loads(line)
    data = np.load(task["data"])
    mean, scale = data["X_train"].mean(axis=0), data["X_train"].std(axis=0)
    train, test = ((data[name] - mean) / np.where(scale > 0, scale, 1) for name in ("X_train", "X_test"))
    norm = float(np.linalg.norm(train, axis=1).max())
    warnings.simplefilter("ignore")
    shares = []
    for seed in range(task["runs"]):
        model = LogisticRegression(epsilon=task["epsilon"], data_norm=norm, random_state=task["seed"] + seed)
        shares.append(float((model.fit(train, data["y_train"]).predict(test) == data["y_test"]).mean()))
    print(json.dumps(shares), flush=True)
