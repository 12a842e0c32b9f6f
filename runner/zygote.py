"""Entry point of the warden, which makes sandboxes by forking: `python -s -P zygote.py`, in a user namespace of its own."""

import os
import signal
import sys

EXIT_USAGE = 64

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120 -- pathlib would stay in the memory of every sandbox's first process

    from muster_runner.json_fields import FieldError
    from muster_zygote.orders import Orders
    from muster_zygote.settings import parse_settings

    # Ctrl-C in a terminal reaches every process of the group, but Muster decides when a sandbox ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = Orders()
    try:
        settings = parse_settings(orders.first())
    except (EOFError, FieldError) as error:
        print(f"zygote: {error}", file=sys.stderr)
        sys.exit(EXIT_USAGE)
    # Each branch imports only what its sandboxes share in memory.
    if settings.writable is None:
        from muster_zygote.warden import Warden

        Warden(settings, orders).run()
    else:
        from muster_zygote.workspaces import WorkspaceWarden

        WorkspaceWarden(settings, orders).run()
