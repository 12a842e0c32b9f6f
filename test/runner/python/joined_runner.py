"""`python joined_runner.py RUNNER [ARGUMENT]…`: becomes the environment's program, and starts the policy's beside it."""

import os
import socket
import sys

environment, policy = socket.socketpair()
for end in (environment, policy):
    end.set_inheritable(True)
runner, *arguments = sys.argv[1:]
if os.fork() == 0:
    environment.close()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.execv(sys.executable, [sys.executable, "-I", runner, *arguments, "--serve-policy", str(policy.detach())])
policy.close()
os.execv(sys.executable, [sys.executable, "-I", runner, *arguments, "--policy-line", str(environment.detach())])
