"""All published claims, one entry for each paper and variant; a new estimator adds its own here.

A published step is attacked on plain data until its estimator exists; then ``subject`` makes the estimator instead, and
claim, proof and witness stay.
"""

from __future__ import annotations

import math
from functools import partial

from privet.audit.claims import baselines, diffprivlib, diprime, federated, hidden, privatree, privet, topdown
from privet.audit.claims.claim import Claim
from privet.audit.claims.privet import kinds

MEANS = ("DiPriMeForestRegressor", "DPERTRegressor", "DPRFRegressor")
"""The forests of DiPriMe's comparison that predict numbers."""

CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            key=f"privatree-features-{m}",
            paper="PrivaTree",
            variant=f"features in parallel, m = {m}",
            claimed=1.0,
            proven=float(m),
            subject=partial(privatree.FeaturesInParallel, epsilon=1.0),
            witness=partial(privatree.separated, m),
            why="A record is in every feature's histogram, so the histograms' costs add up.",
        )
        for m in (5, 14)
    ),
    Claim(
        key="privatree-early-stop",
        paper="PrivaTree",
        variant="stopping on exact data",
        claimed=1.0,
        proven=math.inf,
        subject=partial(privatree.tree, variant="published"),
        witness=privatree.pure,
        why="Whether a node is pure is told without noise.",
        window=(0, 1),
    ),
    Claim(
        key="privatree-sound",
        paper="PrivaTree",
        variant="PrivaTreeClassifier, sound",
        claimed=1.0,
        proven=1.0,
        subject=privatree.tree,
        witness=partial(kinds, 1, (2, 0, 0, 0), 3),
        why="Every feature's histogram has its own share of the node's budget; no node stops on exact counts.",
        window=(0, 2),
    ),
    Claim(
        key="topdown-maximum",
        paper="DP-TopDown",
        variant="released maximum, 10 candidates",
        claimed=1.0,
        proven=5.0,
        subject=partial(topdown.ReleasedMaximum, threshold=20),
        witness=partial(topdown.equal_candidates, 10),
        why="The winner's noisy score says that all the other noisy scores are below it.",
    ),
    Claim(
        key="topdown-private-size",
        paper="DP-TopDown",
        variant="noise scaled by the node's size",
        claimed=1.0,
        proven=math.inf,
        subject=partial(topdown.published, min_gain=40.0),
        witness=partial(topdown.one_more_alike, 24),
        why="Two scales of noise differ without bound far out, and a maximum of many gains looks far out.",
        runs=1_600,
    ),
    Claim(
        key="topdown-noisy-counts",
        paper="DP-TopDown",
        variant="TopDownClassifier, published, NoisyCounts",
        claimed=1.0,
        proven=9.0,
        subject=topdown.CountsSeen,
        witness=topdown.other_cells,
        why="A record is in one cell of each of three tables, and the noise is a third where it should be threefold.",
    ),
    Claim(
        key="topdown-local-rnm",
        paper="DP-TopDown",
        variant="TopDownClassifier, published, LocalRNM",
        claimed=1.0,
        proven=4.55,
        subject=partial(topdown.CountsSeen, split="local_rnm"),
        witness=topdown.other_cells,
        why="Half of the budget pays for such counts of what the owners chose, the other half for less than it buys.",
    ),
    Claim(
        key="federated-bounds",
        paper="Federated histograms",
        variant="HistogramTreeClassifier, published, saving, 50 features",
        claimed=2.0,
        proven=11.75,
        subject=partial(federated.BoundsSeen, threshold=100 / 101),
        witness=partial(federated.first_of_its_class, 50),
        why="A record enters every feature's bound, and each is paid with the whole of the bounds' budget.",
    ),
    Claim(
        key="federated-bounds-sound",
        paper="Federated histograms",
        variant="HistogramTreeClassifier, sound, saving, 50 features",
        claimed=2.0,
        proven=2.0,
        subject=partial(federated.BoundsSeen, threshold=100 / 101, variant="sound"),
        witness=partial(federated.first_of_its_class, 50),
        why="The bounds' budget is shared by the features.",
    ),
    *(
        Claim(
            key=f"federated-histograms-{variant}",
            paper="Federated histograms",
            variant=f"HistogramTreeClassifier, {variant}",
            claimed=1.0,
            proven=1.0,
            subject=partial(federated.tree, 1.0, variant=variant, leaves="labels"),
            witness=partial(kinds, 1, (2, 0, 0, 0), 3),
            why="Algorithm 5: histograms share the node's budget, and leaves have their own. The claim holds.",
            window=window,
        )
        for variant, window in (("sound", (0, 2)), ("published", (0, 1)))
    ),
    *(
        Claim(
            key=f"federated-shares-{parties}-{colluders}",
            paper="Federated histograms",
            variant=f"noise shares, {colluders} of {parties} collude",
            claimed=0.1,
            proven=proven,
            subject=partial(federated.GammaShares, parties, colluders, count=5, width=width),
            witness=federated.any_rows,
            why="Colluders subtract their own shares; what is left has a peak that Laplace noise has not.",
        )
        for parties, colluders, width, proven in ((5, 1, 1e-5, federated.shares_cost(5, 1)), (4, 2, 1e-9, math.inf))
    ),
    *(
        Claim(
            key=f"federated-our-shares-{parties}-{colluders}-{missing}",
            paper="Federated histograms",
            variant=f"our noise shares, {colluders} of {parties} collude, {missing} missing",
            claimed=0.1,
            proven=0.1,
            subject=partial(federated.GeometricShares, parties, colluders, missing, parties - colluders - missing),
            witness=federated.any_rows,
            why="Shares are calibrated to the parties that neither collude nor drop out: theirs alone are the noise.",
        )
        for parties, colluders, missing in ((5, 1, 0), (5, 2, 1))
    ),
    *(
        Claim(
            key=f"federated-skellam-{parties}-{colluders}-{missing}",
            paper="Federated histograms",
            variant=f"our shares of Skellam noise, delta 1e-6, {colluders} of {parties} collude, {missing} missing",
            claimed=1.0,
            proven=1.0,
            subject=partial(federated.SkellamShares, parties, colluders, missing, parties - colluders - missing),
            witness=federated.any_rows,
            why="Skellam noise divides as geometric noise does; what it costs comes with a delta.",
        )
        for parties, colluders, missing in ((5, 1, 0), (5, 2, 1))
    ),
    Claim(
        key="hidden-leaves-only",
        paper="Hidden trees",
        variant="noise at the leaves only, 200 rows",
        claimed=0.1,
        proven=math.inf,
        subject=partial(hidden.Prediction, "published", 0.1),
        witness=hidden.two_perfect_attributes,
        why="A prediction recombines the shares: the exact structure shows. The loss grows with the rows.",
    ),
    *(
        Claim(
            key=f"hidden-sound-{branches}",
            paper="Hidden trees",
            variant=f"HiddenTreeClassifier, sound, {branches}",
            claimed=1.0,
            proven=1.0,
            subject=partial(hidden.Prediction, "sound", 1.0, branches),
            witness=partial(hidden.two_perfect_attributes, 20),
            why="Hidden choices are private choices, so predictions are functions of private answers.",
        )
        for branches in ("values", "thresholds")
    ),
    Claim(
        key="hidden-cut-exponents",
        paper="Hidden trees",
        variant="exponents below -5 cut to zero",
        claimed=1.0,
        proven=math.inf,
        subject=hidden.CutExponents,
        witness=hidden.ten_zeros,
        why="One record more, and a label becomes impossible.",
    ),
    Claim(
        key="hidden-sampling",
        paper="Hidden trees",
        variant="Poisson sampling at 0.2 (claim D.1)",
        claimed=0.2,
        proven=math.log1p(0.2 * math.expm1(1)),
        subject=hidden.PoissonSample,
        witness=hidden.nobody,
        why="Sampling at rate g turns epsilon into ln(1 + g (e^epsilon - 1)), which is more than g * epsilon.",
    ),
    *(
        Claim(
            key=f"diprime-medians-{k}",
            paper="DiPriMe",
            variant=f"medians in parallel, {k} candidates",
            claimed=1.1,
            proven=k + 0.1,
            subject=diprime.ParallelMedians,
            witness=partial(diprime.equal_attributes, k, size=16_000, gap=6),
            why="A record has a value in every attribute, so the medians' costs add up.",
        )
        for k in (5, 10)
    ),
    Claim(
        key="diprime-exp",
        paper="DiPriMe",
        variant="DiPriMeExp, 4 candidates",
        claimed=2.2,
        proven=4.7,
        subject=partial(diprime.forest, attribute="exp", n_candidates=4, variant="published"),
        witness=partial(diprime.equal_attributes_of_classes, 4, size=400, gap=6),
        why="The same, by the estimator: four medians for 1 each, the choice for 1/2, the leaves for 1/5.",
        window=(0, 1),
    ),
    Claim(
        key="diprime-random",
        paper="DiPriMe",
        variant="DiPriMe, random attribute",
        claimed=2.2,
        proven=2.2,
        subject=partial(diprime.forest, variant="published"),
        witness=partial(diprime.equal_attributes_of_classes, 2, size=3, gap=1),
        why="One median for a level: the claim holds.",
        window=(0, 4),
    ),
    Claim(
        key="diprime-leaf-mean",
        paper="DiPriMe",
        variant="leaf mean, noise scaled by its size",
        claimed=1.0,
        proven=math.inf,
        subject=partial(diprime.LeafMean, threshold=10),
        witness=diprime.one_target,
        why="Two scales of noise differ without bound far out.",
    ),
    *(
        Claim(
            key=f"{name.lower()}-published",
            paper="DiPriMe",
            variant=f"{name}, published",
            claimed=1.0,
            proven=math.inf,
            subject=partial(diprime.means, name, variant="published"),
            witness=partial(diprime.in_one_leaf, 1),
            why="The same, by the estimator: the noise of two records' mean is half that of one's.",
            window=(-4, 16),
        )
        for name in MEANS
    ),
    *(
        Claim(
            key=f"{name.lower()}-sound",
            paper="DiPriMe",
            variant=f"{name}, sound",
            claimed=1.0,
            proven=1.0,
            subject=partial(diprime.means, name),
            witness=partial(diprime.in_one_leaf, 1),
            why="Two noisy sums for each leaf; their joint sensitivity is one record.",
            window=(0, 2),
        )
        for name in MEANS
    ),
    Claim(
        key="diprime-gaps",
        paper="DiPriMe",
        variant="permute-and-flip between records",
        claimed=1.0,
        proven=math.inf,
        subject=partial(diprime.GapsBetweenRecords, 0.5, 0.5 + 1e-6),
        witness=partial(diprime.close_values, 1e-6),
        why="A gap counts the same however narrow it is, so a split shows where two records are close.",
    ),
    Claim(
        key="dpgdf-label",
        paper="DPGDF",
        variant="label by smooth sensitivity, lead 3",
        claimed=1.0,
        proven=math.inf,
        subject=baselines.SmoothLabel,
        witness=baselines.leading,
        why="In an exponent a sensitivity that depends on the data moves the odds without bound, smooth or not.",
    ),
    Claim(
        key="bdpt-noisy-size",
        paper="BDPT",
        variant="sensitivity at a noisy size",
        claimed=1.0,
        proven=math.inf,
        subject=partial(baselines.NoisySizeSensitivity, threshold=100),
        witness=baselines.two_features,
        why="A noisy size may be far above the true one, and the noise of the choice shrinks with it.",
    ),
    *(
        Claim(
            key=f"{name.lower()}-published",
            paper=name,
            variant="published estimator: stops on exact data",
            claimed=1.0,
            proven=math.inf,
            subject=partial(baselines.published, f"{name}Classifier"),
            witness=partial(baselines.nearly_pure, 12),
            why="Whether a node is pure is told without noise.",
            window=(0, 1),
        )
        for name in ("DPGDF", "BDPT")
    ),
    Claim(
        key="dpdf-noisy-size",
        paper="DP-DF",
        variant="sensitivity at a noisy size",
        claimed=1.0,
        proven=math.inf,
        subject=partial(baselines.NoisySizeSensitivity, threshold=100),
        witness=baselines.two_features,
        why="Fletcher and Islam's local sensitivity of the Gini impurity, taken at a noisy size: BDPT's flaw.",
    ),
    Claim(
        key="dpdf-sound",
        paper="DP-DF",
        variant="DPDFClassifier, sound",
        claimed=1.0,
        proven=1.0,
        subject=partial(baselines.forest, "DPDFClassifier"),
        witness=partial(kinds, 1, (2, 0, 0, 0), 3),
        why="Counts and choices of a path have a share each; what is cut off follows from counts that were told.",
        window=(0, 1),
    ),
    *privet.CLAIMS,
    *(
        Claim(
            key=f"privet-mpc-{mechanism.replace('_', '-')}",
            paper="Privet",
            variant=f"a label chosen on secret shares, {mechanism.replace('_', '-')}",
            claimed=1.0,
            proven=1.0,
            subject=partial(hidden.JointLabel, mechanism),
            witness=hidden.ten_zeros,
            why="The same law as in plain, drawn by coins that no server knows; delta below 2^-60.",
        )
        for mechanism in ("permute_and_flip", "exponential", "report_noisy_max")
    ),
    Claim(
        key="privet-mpc-count",
        paper="Privet",
        variant="a noisy count on secret shares",
        claimed=1.0,
        proven=1.0,
        subject=hidden.JointCount,
        witness=hidden.nobody,
        why="Two-sided geometric noise, drawn by coins that no server knows; delta below 2^-60.",
    ),
    Claim(
        key="privet-mpc-dealt-count",
        paper="Privet",
        variant="a noisy count on secret shares, noise dealt by the servers, seen by one of them",
        claimed=1.0,
        proven=1.0,
        subject=hidden.DealtCount,
        witness=hidden.nobody,
        why="What any two servers deal is two-sided geometric noise; the third subtracts its own in vain.",
    ),
)


def claim(key: str) -> Claim:
    """The entry of that key."""
    return {entry.key: entry for entry in (*CLAIMS, *diffprivlib.CLAIMS)}[key]
