"""User errors, each reported in one line."""


class UserError(Exception):
    """Bad input or a missing tool: one line that names the cause and how to fix it.

    The command line prints only the message and ends with exit code 2.
    """

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class CheckFailed(UserError):
    """A check that found a fault and cannot continue; the command line ends with exit code 1."""

    exit_code = 1


OTHER_VERSION = "the project's report/accelerator.json was made by another version; write it again"
"""A summary of an accelerator that this version cannot read."""
