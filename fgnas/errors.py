"""What a user did that cannot work, said in one line."""


class UserError(Exception):
    """Bad input or a missing tool: one line that names the cause and the mend.

    The command line prints the message alone and ends with exit code 2.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
