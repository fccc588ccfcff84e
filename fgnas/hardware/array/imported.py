"""Arrays that run a user's network of operations as a kind of hardware that projects describe."""

from fgnas.hardware.array.written import WrittenArrays


class ImportedArrays(WrittenArrays):
    """An array with a network that was imported."""

    name = "operations"
    page = "fgnas.report.imported"
