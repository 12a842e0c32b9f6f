import path from 'node:path';
import { probeCapabilities } from '../../src/adapters/sandbox/bubblewrap/capabilities.ts';
import { LIMIT_NAMES, type LimitName } from '../../src/pool/ports/template.ts';
import { BubblewrapGround } from '../support/bubblewrap-ground.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

const { executable, mounts } = pythonInterpreter();
const { limits } = await probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' });

const USAGE = 'what a sandbox has used is told, while it runs and after its end';

/** What depends on the machine: without control groups that this user may make, some limits do not hold for a whole tree. */
const SKIPS: Readonly<Record<LimitName, readonly string[]>> = {
  memory: [USAGE, 'a memory bomb is ended as out of memory, and the host unaffected', 'the memory of the whole tree counts'],
  processes: [USAGE, 'a fork bomb is bounded, and the host unaffected', 'the template’s number of processes is what the program gets'],
  cpu: [USAGE, 'the processor time of the whole tree is limited'],
  disk: [],
  lifetime: [],
};

const limitSkips = Object.fromEntries(
  LIMIT_NAMES.filter((limit) => limits[limit].scope !== 'tree').flatMap((limit) =>
    SKIPS[limit].map((title) => [title, `this machine limits ${limit} by ${limits[limit].by}`] as const),
  ),
);

sandboxProviderContract(
  'the bubblewrap provider',
  { commands: shellCommands(executable), mounts, open: () => BubblewrapGround.open(mounts) },
  limitSkips,
);

const forkedMounts = [...mounts, { source: path.join(import.meta.dirname, '../../runner'), target: '/runner' }];
const zygote = { python: executable, program: '/runner/zygote.py', imports: [], isRequired: true };

sandboxProviderContract(
  'the bubblewrap provider, forking from a zygote,',
  { commands: shellCommands(executable), mounts: forkedMounts, zygote, open: () => BubblewrapGround.open(forkedMounts, { zygote }) },
  limitSkips,
);

/** Waits for the end of the first program. */
const policy = { command: [executable, '-I', '-c', 'import socket; s = socket.socket(fileno=3); s.setblocking(True); s.recv(1)'] };
const pairSkips = { ...limitSkips, 'no file descriptor of Muster’s is inherited': 'it has one more, to the second program' };

sandboxProviderContract(
  'the bubblewrap provider, with two programs in a sandbox,',
  { commands: shellCommands(executable), mounts, open: () => BubblewrapGround.open(mounts, { policy }) },
  pairSkips,
);

sandboxProviderContract(
  'the bubblewrap provider, forking two programs for a sandbox,',
  {
    commands: shellCommands(executable),
    mounts: forkedMounts,
    zygote,
    open: () => BubblewrapGround.open(forkedMounts, { zygote, policy }),
  },
  pairSkips,
);
