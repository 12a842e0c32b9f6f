import { z } from 'zod';
import { createBubblewrapProvider } from '../../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { createGvisorProvider } from '../../src/adapters/sandbox/gvisor/gvisor-provider.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';

/** A Muster of its own process, for tests that kill it: creates sandboxes, tells
 * of them on a line of stdout, passes their output on, and waits for its end. */
const order = z
  .object({
    provider: z.enum(['bubblewrap', 'gvisor']),
    stateDir: z.string(),
    owner: z.string(),
    commands: z.array(z.array(z.string())),
    mounts: z.array(z.object({ source: z.string(), target: z.string() })),
    cgroups: z.enum(['detect', 'none']),
    processes: z.number(),
    zygote: z.object({ python: z.string(), program: z.string(), imports: z.array(z.string()), isRequired: z.boolean() }).optional(),
    policy: z.object({ command: z.array(z.string()) }).optional(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const { stateDir, cgroups } = order;
const createProvider = { bubblewrap: createBubblewrapProvider, gvisor: createGvisorProvider }[order.provider];
const provider = createProvider({ stateDir, owner: parseOwnerId(order.owner), clock: systemClock, cgroups });
const limits = { memoryBytes: 256 * 2 ** 20, processes: order.processes, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };
const made = order.commands.map((command, i) => {
  const rest = { environment: {}, mounts: order.mounts, network: 'none', limits, demands: [] } as const;
  const template = {
    name: 'crashed',
    command,
    ...rest,
    ...(order.zygote && { zygote: order.zygote }),
    ...(order.policy && { policy: order.policy }),
  };
  return provider.create({ id: parseSandboxId(`crashed-${i}`), template }, new AbortController().signal);
});
const sandboxes = await Promise.all(made);
process.stdout.write(`${JSON.stringify(sandboxes.map(({ id, isolation }) => ({ id, isolation })))}\n`);
// Each pipe listens to where it leads.
for (const output of [process.stdout, process.stderr]) output.setMaxListeners(0);
for (const sandbox of sandboxes) {
  sandbox.stderr.pipe(process.stderr);
  sandbox.stdout.pipe(process.stdout);
}
// The end of the test that started it is its own end.
process.stdin.once('end', () => process.exit(1)).resume();
