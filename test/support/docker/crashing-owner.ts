import { z } from 'zod';
import { createDockerProvider } from '../../../src/adapters/sandbox/docker/docker-provider.ts';
import { DockerPart } from '../../../src/adapters/sandbox/docker/settings.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../../src/kernel/ids.ts';

/** A Muster of its own process, for tests that kill it: creates sandboxes, names them on a line of stdout, and waits for its end. */
const order = z
  .object({ stateDir: z.string(), owner: z.string(), socket: z.string(), image: z.string(), commands: z.array(z.array(z.string())) })
  .parse(JSON.parse(process.argv[2] ?? ''));

const provider = createDockerProvider({ stateDir: order.stateDir, owner: parseOwnerId(order.owner), clock: systemClock });
const limits = { memoryBytes: 2 ** 28, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };
const providerPart = new DockerPart({ socket: order.socket, pull: 'never' }, order.image);
const mounts = [{ source: '/usr', target: '/usr' }];
const sandboxes = await Promise.all(
  order.commands.map((command, i) => {
    const template = { name: 'crashed', command, environment: {}, mounts, network: 'none', limits, demands: [], providerPart } as const;
    return provider.create({ id: parseSandboxId(`crashed-${i}`), template }, new AbortController().signal);
  }),
);
process.stdout.write(`${sandboxes.map(({ id }) => id).join(' ')}\n`);
// The end of the test that started it is its own end.
process.stdin.once('end', () => process.exit(1)).resume();
