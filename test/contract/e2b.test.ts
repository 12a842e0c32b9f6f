import { E2bContext } from '../support/e2b/e2b-context.ts';
import { useRealSockets } from '../support/e2b/real-sockets.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { DISK_BOMB, FORK_BOMB, limitFailures, MEMORY_BOMB, PROCESS_COUNT, PROCESSOR_TIME, TREE_MEMORY, USAGE } from './limit-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

const { executable, mounts } = pythonInterpreter();
useRealSockets();

const BY_TEMPLATE = 'a sandbox is as large as its E2B template was built';

sandboxProviderContract(
  'the E2B provider',
  {
    commands: shellCommands(executable),
    mounts: [],
    open: () => E2bContext.open(mounts),
    // Its limits are those of the template at E2B, so that most of these scenarios have to fail.
    sample: ['streams', 'uploads', 'leaving', 'isolation'],
  },
  {
    'bytes of every value pass unchanged both ways': {
      reason: 'the SDK hands output over as text: what is no UTF-8 is replaced',
      error: /expected -?1 to be \+0/,
    },
    'what the template mounts in /tmp is there, and cannot be written': {
      reason: "E2B's sandboxes see nothing of this machine",
      error: /mounts are directories of this machine, which E2B's sandboxes do not see/,
    },
    [DISK_BOMB]: { reason: BY_TEMPLATE, error: /the program, which ended with \{"kind":"lost"/ },
    ...limitFailures(BY_TEMPLATE, FORK_BOMB, PROCESS_COUNT, TREE_MEMORY, PROCESSOR_TIME),
    ...limitFailures('the service does not say what ended a program', MEMORY_BOMB),
    ...limitFailures('E2B samples a sandbox at intervals, and not after its end', USAGE),
  },
);
