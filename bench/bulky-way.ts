import { finished } from 'node:stream/promises';
import { z } from 'zod';
import { parseSandboxId } from '../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../src/pool/ports/template.ts';
import type { BulkyFile, Order, Passage } from './bulky-sandboxes.ts';
import { FarEnd, KINDS } from './far-end.ts';
import { ownMemory } from './memory-of.ts';

/** Muster in a process of its own, of which something bulky passes one way, once: `bulky-way.ts ORDER`, as JSON. */
const LOOK_MS = 20;
const NEVER = new AbortController().signal;
const LIMITS = { memoryBytes: 2 ** 30, processes: 16, cpus: 2, diskBytes: 2 ** 24, lifetimeSeconds: 3600 };
const fileSchema = z.object({ hostPath: z.string(), bytes: z.number(), sha256: z.string() });
const orderSchema = z.object({ kind: z.enum(KINDS), way: z.enum(['upload', 'output']), first: fileSchema, bulky: fileSchema });

interface Muster {
  readonly provider: SandboxProvider;
  readonly additions: Partial<SandboxTemplate>;
}
const WAYS = { upload: uploaded, output: printed } as const;

if (!process.send) throw new Error('started by bulky-sandboxes.ts only');
process.once('disconnect', () => process.exit());
process.send(await passage(orderSchema.parse(JSON.parse(process.argv[2] ?? ''))), () => process.disconnect());

/** What the bulky file's way takes, after the first one has loaded and compiled what is needed. */
async function passage({ kind, way, first, bulky }: Order): Promise<Passage> {
  await using farEnd = await FarEnd.open(kind);
  const muster = await farEnd.muster();
  await using _closing = muster.provider;
  await WAYS[way](muster, first);
  return await watched(() => WAYS[way](muster, bulky));
}

async function watched(act: () => Promise<void>): Promise<Passage> {
  const { heapBytes, externalBytes, rssBytes } = ownMemory();
  let mostBytes = 0;
  let mostRssBytes = 0;
  const look = (): void => {
    const { heapUsed, external, rss } = process.memoryUsage();
    mostBytes = Math.max(mostBytes, heapUsed + external - heapBytes - externalBytes);
    mostRssBytes = Math.max(mostRssBytes, rss - rssBytes);
  };
  const timer = setInterval(look, LOOK_MS);
  const start = performance.now();
  const { user, system } = process.cpuUsage();
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  const used = process.cpuUsage({ user, system });
  return { seconds: (performance.now() - start) / 1000, cpuSeconds: (used.user + used.system) / 1e6, mostBytes, mostRssBytes };
}

async function uploaded(muster: Muster, { hostPath, sha256 }: BulkyFile): Promise<void> {
  const sandbox = await create(muster, ['sh', '-c', 'read path; sha256sum "$path"']);
  const inside = await sandbox.upload('bulky', { kind: 'file', hostPath }, NEVER);
  sandbox.stdin.end(`${inside}\n`);
  let said = '';
  for await (const chunk of sandbox.stdout) said += String(chunk);
  if (!said.startsWith(sha256)) throw new Error(`the sandbox has something else than was sent: ${said}`);
  await sandbox.destroy();
}

async function printed(muster: Muster, { bytes }: BulkyFile): Promise<void> {
  const sandbox = await create(muster, ['head', '-c', String(bytes), '/dev/zero']);
  let received = 0;
  sandbox.stdout.on('data', (chunk: Buffer) => (received += chunk.length));
  await finished(sandbox.stdout);
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes came`);
  await sandbox.destroy();
}

function create({ provider, additions }: Muster, command: readonly string[]): Promise<Sandbox> {
  const surroundings = { environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [] } as const;
  return provider.create({ id: parseSandboxId('bulky'), template: { name: 'bulky', command, ...surroundings, ...additions } }, NEVER);
}
