"""The errors users meet. Each message says what to do next and never contains a private value."""


class PrivetError(ValueError):
    """Base of all errors that Privet raises on purpose."""


class SchemaError(PrivetError):
    """The schema is wrong, or the data do not match it."""


class BudgetError(PrivetError):
    """A question would cost more than the ledger still holds, or a budget makes no sense."""


class BudgetWarning(UserWarning):
    """A budget is so small that nothing can be learned, so large that it promises nothing, or certifies little."""


class DataWarning(UserWarning):
    """Rows fit the schema, and probably not as they were meant; counts are told, never a value."""


class MissingExtraError(PrivetError, ImportError):
    """A package that an extra brings is not installed; the message names the extra."""


class LeakError(PrivetError):
    """A question was asked in a way that could reveal more than its price says."""


class ReceiptError(PrivetError):
    """A receipt does not add up."""


class NotReleasedError(PrivetError, AttributeError):
    """A model does not have this, because what it follows from was not released; the message says what to ask for."""


class CapabilityError(PrivetError):
    """This curator cannot answer this question; the message names one that can."""


class ClusterError(PrivetError):
    """A cluster or its connection has failed in the middle of a fit; the message says what to do."""


class MpcError(PrivetError):
    """A joint computation has ended early; nothing that was not released has left it."""


class RunEndedError(MpcError):
    """A run was ended elsewhere, or somebody is lost: whoever hears of it passes it on in the same words."""


class FederatedError(PrivetError):
    """A federated run cannot go on; the message says why, and whether it can be taken up again."""


class DatabaseError(PrivetError):
    """A database did not answer, or does not have what was named; the message never quotes its own, nor a record."""
