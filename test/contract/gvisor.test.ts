import { LIMIT_NAMES, type LimitName } from '../../src/pool/ports/template.ts';
import { GvisorGround, gvisorHere } from '../support/gvisor-ground.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

const { executable, mounts } = pythonInterpreter();
const { gvisor, limits, runsc } = gvisorHere;

/** What depends on the machine: without control groups that this user may make, some limits do not hold for a whole tree. */
const SKIPS: Partial<Readonly<Record<LimitName, readonly string[]>>> = {
  memory: ['a memory bomb is ended as out of memory, and the host unaffected'],
  cpu: ['the processor time of the whole tree is limited'],
};
/** The adapter's own tests ask in other ways. */
const OLDER = {
  'the program has no capability, no way to gain any, and is not root':
    'older versions do not tell of CapAmb and NoNewPrivs in /proc/self/status',
};
const byMachine = LIMIT_NAMES.filter((limit) => limits[limit].scope !== 'tree').flatMap((limit) =>
  (SKIPS[limit] ?? []).map((title) => [title, `this machine limits ${limit} by ${limits[limit].by}`] as const),
);

sandboxProviderContract(
  'the gVisor provider',
  { commands: shellCommands(executable), mounts, open: () => GvisorGround.open(mounts) },
  {
    ...Object.fromEntries(byMachine),
    'the memory of the whole tree counts':
      'gVisor holds the memory of all programs itself, so that the limit ends the sandbox and not one of its processes',
    ...(runsc?.hasGoferNetwork === true ? {} : OLDER),
  },
  gvisor.state === 'missing' ? gvisor.detail : undefined,
);
