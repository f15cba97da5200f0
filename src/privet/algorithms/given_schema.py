"""What an estimator was given as its schema: a schema, the wish to read one off the records, or nothing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from privet.errors import BudgetWarning, SchemaError
from privet.schema import Schema

if TYPE_CHECKING:
    from privet.tables.draft import Task


def resolved_schema(schema: Schema | str | None, X: Any, y: Any, task: Task) -> Schema:
    """The schema that an estimator was given, or one that is read off the records, with a warning."""
    if isinstance(schema, Schema):
        if schema.unconfirmed:
            draft = "The schema is a draft, with fields that were read off the records: the receipt is VOID."
            warnings.warn(f"{draft} Confirm each, and set inferred to False.", BudgetWarning, stacklevel=3)
        return schema
    if isinstance(schema, str) and schema == "infer":
        from privet.tables.draft import infer
        from privet.tables.files import names_files

        warnings.warn(
            "schema='infer' reads ranges, categories and classes off the records: the receipt is void. "
            "Write a schema from public knowledge (privet schema draft helps).",
            UserWarning,
            stacklevel=3,
        )
        if names_files(X):
            raise SchemaError("schema='infer' is for a table in memory; for files, `privet schema draft` helps.")
        return infer(X, y, task=task)
    if schema is not None:
        given = f"schema is a {type(schema).__name__}, and must be a Schema"
        raise SchemaError(f"{given}: `privet schema draft` helps to write one, Schema.from_toml(FILE) reads it.")
    raise SchemaError(
        "A private model needs a public schema: the features' ranges or categories, and the classes (or, for "
        "regression, target=(low, high)). For example "
        "Schema({'age': Numeric(0, 120), 'sex': Categorical(['f', 'm'])}, classes=['no', 'yes']); "
        "`privet schema draft data.csv --label COLUMN` writes a draft to confirm. schema='infer' infers one "
        "and gives no guarantee."
    )
