"""The schema on a page: all that counts as public, which the person who approves a release has to judge."""

from __future__ import annotations

from html import escape

from privet.explain.subject import Subject
from privet.schema import Categorical, Numeric, Schema

LEAD = (
    "The model's promise is about what it learned from records. What the schema says was never hidden: names, ranges, "
    "categories and classes are in the model for everybody to read. So each of them must be known without the records, "
    "from a codebook, a law or a form. A range that ends at somebody's value, or a category that one person has, gives "
    "that person away."
)


def schema_section(subject: Subject) -> str:
    """Every name and value that counts as public, in a table that is not folded."""
    schema = subject.schema
    rows = [_row(subject.label, f"{_outcomes(schema)}: what is predicted")]
    rows += [_row(schema.person, "says whose record it is; no value of it is in the model")] if schema.person else []
    rows += [_row(name, field_text(own)) for name, own in schema.features.items()]
    head = "<thead><tr><th>column</th><th>what counts as public</th></tr></thead>"
    return (
        '<section id="schema" aria-labelledby="schema-title">\n<h2 id="schema-title">What counts as public</h2>\n'
        f'<p class="lead">{escape(LEAD)}</p>\n'
        f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>\n</section>'
    )


def _row(name: str, said: str) -> str:
    return f'<tr><th scope="row">{escape(name)}</th><td>{escape(said)}</td></tr>'


def _outcomes(schema: Schema) -> str:
    if schema.classes is not None:
        return ", ".join(map(str, schema.classes))
    low, high = schema.target or (0.0, 0.0)
    return f"{low:g} to {high:g}"


def field_text(own: Numeric | Categorical) -> str:
    """What is public of one feature."""
    if isinstance(own, Categorical):
        return ", ".join(map(str, own.values)) + ("; any other value" if own.other else "")
    kinds = [text for flag, text in (("integer", "whole numbers"), ("missing", "may be missing")) if getattr(own, flag)]
    mean = [f"mean of {', '.join(own.mean_of)}"] if own.mean_of else []
    return "; ".join([f"{own.low:g} to {own.high:g}", *kinds, *mean])
