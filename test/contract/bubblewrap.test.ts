import path from 'node:path';
import { probeCapabilities } from '../../src/adapters/sandbox/bubblewrap/capabilities.ts';
import { LIMIT_NAMES, type LimitName } from '../../src/pool/ports/template.ts';
import { BubblewrapContext } from '../support/bubblewrap-context.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import type { ExpectedFailures } from './expected-failure.ts';
import { FORK_BOMB, limitFailures, MEMORY_BOMB, PROCESS_COUNT, PROCESSOR_TIME, TREE_MEMORY, USAGE } from './limit-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { ALL_GROUPS, sandboxProviderContract } from './sandbox-provider.ts';

const { executable, mounts } = pythonInterpreter();
const { limits } = await probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' });

/** What depends on the machine: without control groups that this user may make, some limits do not hold for a whole tree. */
const BY_LIMIT: Readonly<Record<LimitName, readonly string[]>> = {
  memory: [USAGE, MEMORY_BOMB, TREE_MEMORY],
  processes: [USAGE, FORK_BOMB, PROCESS_COUNT],
  cpu: [USAGE, PROCESSOR_TIME],
  disk: [],
  lifetime: [],
};

const unenforced = LIMIT_NAMES.filter((limit) => limits[limit].scope !== 'tree').map((limit) =>
  limitFailures(`this machine limits ${limit} by ${limits[limit].by}`, ...BY_LIMIT[limit]),
);
const byMachine: ExpectedFailures = Object.assign({}, ...unenforced);

sandboxProviderContract(
  'the bubblewrap provider',
  { commands: shellCommands(executable), mounts, open: () => BubblewrapContext.open(mounts) },
  byMachine,
);

const forkedMounts = [...mounts, { source: path.join(import.meta.dirname, '../../runner'), target: '/runner' }];
const zygote = { python: executable, program: '/runner/zygote.py', imports: [], isRequired: true };

sandboxProviderContract(
  'the bubblewrap provider, forking from a zygote,',
  {
    commands: shellCommands(executable),
    mounts: forkedMounts,
    zygote,
    open: () => BubblewrapContext.open(forkedMounts, { zygote }),
    sample: ALL_GROUPS,
  },
  byMachine,
);

/** What a second program has a part in. Streams and uploads are those of the first. */
const OF_PAIRS = ['leaving', 'isolation', 'limits'] as const;
/** Pairs that are forked show the rest, in the same namespaces and groups; only the way in which a pair ends is another. */
const OF_PLAIN_PAIRS = ['leaving'] as const;
/** Waits for the end of the first program. */
const policy = { command: [executable, '-I', '-c', 'import socket; s = socket.socket(fileno=3); s.setblocking(True); s.recv(1)'] };
const ofPair: ExpectedFailures = {
  ...byMachine,
  'no file descriptor of Muster’s is inherited': {
    reason: 'it has one more, to the second program',
    error: /expected '\[\\?'socket:\[\d+\]\\?'\]' to be '\[\]'/,
  },
};

sandboxProviderContract(
  'the bubblewrap provider, with two programs in a sandbox,',
  { commands: shellCommands(executable), mounts, open: () => BubblewrapContext.open(mounts, { policy }), sample: OF_PLAIN_PAIRS },
  ofPair,
);

sandboxProviderContract(
  'the bubblewrap provider, forking two programs for a sandbox,',
  {
    commands: shellCommands(executable),
    mounts: forkedMounts,
    zygote,
    open: () => BubblewrapContext.open(forkedMounts, { zygote, policy }),
    sample: OF_PAIRS,
  },
  ofPair,
);
