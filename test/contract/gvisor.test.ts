import { LIMIT_NAMES, type LimitName } from '../../src/pool/ports/template.ts';
import { GvisorContext, gvisorHere } from '../support/gvisor-context.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import type { ExpectedFailures } from './expected-failure.ts';
import { limitFailures, MEMORY_BOMB, PROCESSOR_TIME, TREE_MEMORY } from './limit-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

const { executable, mounts } = pythonInterpreter();
const { gvisor, limits, runsc } = gvisorHere;

/** What depends on the machine: without control groups that this user may make, some limits do not hold for a whole tree. */
const BY_LIMIT: Partial<Readonly<Record<LimitName, string>>> = { memory: MEMORY_BOMB, cpu: PROCESSOR_TIME };
const unenforced = LIMIT_NAMES.filter((limit) => limits[limit].scope !== 'tree').map((limit) =>
  limitFailures(`this machine limits ${limit} by ${limits[limit].by}`, ...(BY_LIMIT[limit] === undefined ? [] : [BY_LIMIT[limit]])),
);
const byMachine: ExpectedFailures = Object.assign({}, ...unenforced);
/** The adapter's own tests ask in other ways. */
const OLDER: ExpectedFailures = {
  'the program has no capability, no way to gain any, and is not root': {
    reason: 'older versions do not tell of CapAmb and NoNewPrivs in /proc/self/status',
    error: /KeyError: '(CapAmb|NoNewPrivs)'/,
  },
};

sandboxProviderContract(
  'the gVisor provider',
  {
    commands: shellCommands(executable),
    mounts,
    open: () => GvisorContext.open(mounts),
    // Files come into its inbox as into that of bubblewrap.
    sample: ['streams', 'leaving', 'isolation', 'limits'],
  },
  {
    ...byMachine,
    [TREE_MEMORY]: {
      reason: 'gVisor holds the memory of all programs itself, so that the limit ends the sandbox and not one of its processes',
      error: /ended with \{"kind":"out-of-memory"\}/,
    },
    ...(runsc?.hasGoferNetwork === true ? {} : OLDER),
  },
  gvisor.state === 'missing' ? gvisor.detail : undefined,
);
