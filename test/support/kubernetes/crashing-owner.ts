import { z } from 'zod';
import { createKubernetesProvider } from '../../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../../src/kernel/ids.ts';
import { podTemplate } from './kubernetes-context.ts';
import { PodPart } from '../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

/** A Muster of its own process, for tests that kill it: makes pods, tells of them on a line of stdout, and waits for its end. */
const transportSchema = z.union([
  z.object({ kind: z.literal('exec') }),
  z.object({
    kind: z.literal('dial-back'),
    provider: z.string(),
    host: z.string(),
    port: z.number(),
    advertise: z.string(),
    plaintext: z.enum(['refused', 'allowed']),
    python: z.string(),
    dialler: z.string(),
  }),
]);
const order = z
  .object({
    owner: z.string(),
    commands: z.array(z.array(z.string())),
    pod: z.object({
      kubeconfig: z.string(),
      namespace: z.string(),
      image: z.string(),
      requestedShare: z.number(),
      transport: transportSchema,
      claims: z.union([z.object({ warmPool: z.string() }), z.object({ replicas: z.number() })]).optional(),
    }),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const provider = createKubernetesProvider({ owner: parseOwnerId(order.owner), clock: systemClock });
const limits = { memoryBytes: 256 * 2 ** 20, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };
const made = order.commands.map((command, i) => {
  const rest = { environment: {}, mounts: [], network: 'none', limits, demands: [] } as const;
  const template = { name: 'crashed', command, ...rest, providerPart: new PodPart(podTemplate(order.pod.kubeconfig, order.pod)) };
  return provider.create({ id: parseSandboxId(`crashed-${i}`), template }, new AbortController().signal);
});
const sandboxes = await Promise.all(made);
for (const { stdout, stderr } of sandboxes) {
  stdout.resume();
  stderr.resume();
}
process.stdout.write(`${JSON.stringify(sandboxes.map(({ id }) => id))}\n`);
process.stdin.once('end', () => process.exit(1)).resume();
