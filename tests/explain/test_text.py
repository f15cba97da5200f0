"""Trees and receipts as text: complete, true and readable."""

import pytest

from privet import Categorical, Numeric, Schema
from privet.explain.subject import Subject
from privet.explain.text import leaf_text, rule_text, tree_text
from privet.report.model_facts import model_facts
from privet.tree.growing import GrowingTree
from privet.tree.tree import Rule, Tree, TreeNode

SCHEMA = Schema({"age": Numeric(0, 90, integer=True), "sex": Categorical(["f", "m"])}, classes=["no", "yes"])


def small_tree():
    tree = GrowingTree(SCHEMA)
    young, old = tree.grow(0, Rule(0, (45.0,), bytes([0, 1])), 2)
    women, others = tree.grow(old, Rule(1, None, bytes([0, 1, 1])), 2)
    for leaf, label in ((young, 0), (women, 1), (others, 0)):
        tree.nodes[leaf].label = label
    return tree.as_grown()


def test_a_tree_is_written_one_line_for_each_branch():
    assert tree_text(small_tree()).splitlines() == [
        "age <= 45: no",
        "age > 45",
        "|   sex is f: yes",
        "|   sex is one of: m, any other value: no",
    ]


def test_a_tree_that_is_a_leaf_is_its_label():
    tree = Tree(SCHEMA, (TreeNode(label=1),))
    assert tree_text(tree) == "yes"


def test_noisy_counts_say_that_they_are_noisy():
    assert leaf_text(TreeNode(label=1, counts=(2, 7)), SCHEMA) == "yes (noisy counts no: 2, yes: 7)"
    assert leaf_text(TreeNode(counts=(9, 7)), SCHEMA) == "no (noisy counts no: 9, yes: 7)"


@pytest.mark.parametrize(
    ("counts", "remark"),
    [
        ((-2, 7), "what is below 0 is taken as none"),
        ((9, 7), "largest for no, but the label was chosen apart from them"),
        ((9, -2), "what is below 0 is taken as none; largest for no, but the label was chosen apart from them"),
        ((-2, 0), "noise hides them: none is above 0"),
        ((7, 7), ""),
    ],
)
def test_counts_that_contradict_themselves_or_the_label_are_told_in_the_same_words_everywhere(counts, remark):
    leaf = TreeNode(label=1, counts=counts)
    told = "; ".join(filter(None, [f"noisy counts no: {counts[0]}, yes: {counts[1]}", remark]))
    assert leaf_text(leaf, SCHEMA) == f"yes ({told})"
    subject = Subject("PrivateTreeClassifier", SCHEMA, Tree(SCHEMA, (leaf,)), receipt=None)
    (node,) = model_facts(subject, lambda scope: 0)["trees"][0]["nodes"]  # the report writes "m" behind its counts
    assert node.get("m", "") == remark


def test_classes_that_are_not_text_are_written_as_they_are():
    schema = Schema({"age": Numeric(0, 90)}, classes=[False, True])
    assert leaf_text(TreeNode(label=1), schema) == "True"


def test_brief_cuts_have_three_digits_where_these_tell_them_apart():
    schema = Schema({"x": Numeric(0, 9000)}, classes=["no", "yes"])

    def brief(*cuts):
        return rule_text(Rule(0, cuts, bytes([0, *[1] * (len(cuts) - 1), 0])), 0, schema, brief=True)

    assert brief(4.29688, 5123.46) == "x <= 4.3 or x > 5123"
    assert brief(4.29688, 4.29712) == "x <= 4.29688 or x > 4.29712"
