"""How the runner ends where it is not a crash, after sysexits.h."""

EXIT_USAGE = 64
EXIT_MISSING_MODULE = 69
EXIT_PROTOCOL = 70
# The policy's program, apart from this one, has ended or does not keep to its line.
EXIT_POLICY_LINE = 71
EXIT_OUTPUT = 74
