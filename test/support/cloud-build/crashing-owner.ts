import { z } from 'zod';
import { createCloudBuildProvider } from '../../../src/adapters/sandbox/cloud-build/cloud-build-provider.ts';
import { createCloudBuildTemplate } from '../../../src/adapters/sandbox/cloud-build/cloud-build-template.ts';
import { cloudBuildSchema } from '../../../src/adapters/sandbox/cloud-build/settings.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../../src/kernel/ids.ts';

/** A Muster of its own process, for tests that kill it: creates sandboxes, names them on a line of stdout, and waits for its end. */
const order = z
  .object({ owner: z.string(), settings: cloudBuildSchema, commands: z.array(z.array(z.string())) })
  .parse(JSON.parse(process.argv[2] ?? ''));

const provider = createCloudBuildProvider({ owner: parseOwnerId(order.owner), clock: systemClock });
const limits = { memoryBytes: 2 ** 28, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };
const rest = { python: 'auto', imports: [], environment: {}, mounts: [], network: 'none', limits, demands: [], start: 'auto' } as const;
const sandboxes = await Promise.all(
  order.commands.map((command, i) => {
    const template = createCloudBuildTemplate('crashed', { ...rest, command }, order.settings);
    return provider.create({ id: parseSandboxId(`crashed-${i}`), template }, new AbortController().signal);
  }),
);
process.stdout.write(`${sandboxes.map(({ id }) => id).join(' ')}\n`);
// The end of the test that started it is its own end.
process.stdin.once('end', () => process.exit(1)).resume();
