"""The runner's exit codes, apart from crashes. They follow sysexits.h."""

EXIT_USAGE = 64
EXIT_MISSING_MODULE = 69
EXIT_PROTOCOL = 70
# The policy's program has ended, or has violated the protocol of its connection.
EXIT_POLICY_LINE = 71
EXIT_OUTPUT = 74
