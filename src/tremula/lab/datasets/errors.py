"""What can go wrong with a dataset, by name."""

from tremula.errors import InvalidInput, TremulaError


class UnusableDataset(InvalidInput):
    """A dataset that exists but cannot be used for what was asked."""


class UnknownDataset(TremulaError, LookupError):
    """No dataset of the given name, and no file at the given path."""


class NotFetched(UnknownDataset):
    """A dataset that tremula knows, but that is not on this machine and could not be fetched."""


class DamagedCopy(UserWarning):
    """A file in the cache was cut or changed; the dataset is fetched again."""


class OtherContent(UserWarning):
    """A copy of a known dataset whose rows, values or types differ from those that tremula has a checksum of."""


class RowsLeftOut(UserWarning):
    """Rows whose target is missing are not in the dataset."""
