import { z } from 'zod';
import { createE2bProvider } from '../../../src/adapters/sandbox/e2b/e2b-provider.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../../src/kernel/ids.ts';
import { MACHINE, PROJECT } from './e2b-context.ts';
import { E2bPart } from '../../../src/adapters/sandbox/e2b/e2b-machine.ts';

/** A Muster of its own process, for tests that kill it: creates sandboxes, tells their ids on a line of stdout, and waits for its end. */
const order = z
  .object({
    account: z.object({ apiKey: z.string(), apiUrl: z.string().exactOptional(), sandboxUrl: z.string().exactOptional() }),
    owner: z.string(),
    commands: z.array(z.array(z.string())),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const provider = createE2bProvider({
  owner: parseOwnerId(order.owner),
  clock: systemClock,
  account: order.account,
  projectDirectory: PROJECT,
  log: (message) => process.stderr.write(`${message}\n`),
});
const limits = { memoryBytes: 256 * 2 ** 20, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };
const made = order.commands.map((command, i) => {
  const template = {
    name: 'crashed',
    command,
    environment: {},
    mounts: [],
    network: 'none',
    limits,
    demands: [],
    providerPart: new E2bPart(MACHINE),
  } as const;
  return provider.create({ id: parseSandboxId(`crashed-${i}`), template }, new AbortController().signal);
});
const sandboxes = await Promise.all(made);
process.stdout.write(`${JSON.stringify(sandboxes.map(({ id }) => id))}\n`);
// The end of the test that started it is its own end.
process.stdin.once('end', () => process.exit(1)).resume();
