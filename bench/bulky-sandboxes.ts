import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseSandboxId } from '../src/kernel/ids.ts';
import type { SandboxProvider } from '../src/pool/sandbox.ts';
import type { SandboxTemplate } from '../src/pool/template.ts';
import type { SandboxGround } from '../test/contract/sandbox-provider.ts';
import { E2bGround } from '../test/support/e2b/e2b-ground.ts';
import { dialBackImage } from '../test/support/kubernetes/dial-back-image.ts';
import { KubernetesGround } from '../test/support/kubernetes/kubernetes-ground.ts';
import type { Benchmark, Check, Cell } from './benchmark.ts';
import { ownMemory } from './memory-of.ts';

const MIB = 2 ** 20;
const PIECE = 256 * 1024;
const BOUND_BYTES = 100 * MIB;
const NEVER = new AbortController().signal;
const LIMITS = { memoryBytes: 2 ** 30, processes: 16, cpus: 2, diskBytes: 2 ** 24, lifetimeSeconds: 3600 };

export const bulkySandboxes: Benchmark = {
  name: 'bulky-sandboxes',
  summary: 'memory that a large file into a simulated pod or E2B sandbox, and a large output out of one, take on their way',
  async run({ quick, say }) {
    const bytes = (quick ? 32 : 1024) * MIB;
    const rows: (readonly Cell[])[] = [];
    const checks: Check[] = [];
    for (const [kind, open] of GROUNDS) {
      await using ground = await open();
      await using provider = ground.provider();
      say(`a file into a sandbox, ${kind}`);
      const upload = await watched(() => uploaded(provider, ground.additions ?? {}, bytes));
      say(`output out of a sandbox, ${kind}`);
      const output = await watched(() => printed(provider, ground.additions ?? {}, bytes));
      const row = (what: string, { seconds, mostBytes }: Watched): readonly Cell[] => [what, bytes / MIB, seconds, mostBytes / MIB];
      rows.push(row(`one file, uploaded (${kind})`, upload), row(`one output, read (${kind})`, output));
      checks.push(check(`upload (${kind})`, upload), check(`output (${kind})`, output));
    }
    return {
      tables: [
        {
          title: 'With both ends in one process: Muster, and the simulated API server, the way out of a simulated pod, or E2B',
          columns: ['', 'MiB', 'seconds', 'MiB of memory above idle, at most'],
          rows,
        },
      ],
      checks,
      notes: ['Memory is what JavaScript and its buffers hold, sampled while the bytes pass, without collecting garbage first.'],
    };
  },
};

/** Each way there is into sandboxes elsewhere. */
const GROUNDS: readonly (readonly [string, () => Promise<SandboxGround>])[] = [
  ['exec', () => KubernetesGround.open({ mounts: [] })],
  [
    'dial-back',
    async () => {
      const { image, transport } = await dialBackImage();
      return await KubernetesGround.open(image, {}, undefined, transport);
    },
  ],
  ['E2B', () => E2bGround.open([])],
];

interface Watched {
  readonly seconds: number;
  readonly mostBytes: number;
}

async function watched(act: () => Promise<void>): Promise<Watched> {
  const { heapBytes, externalBytes } = ownMemory();
  let mostBytes = 0;
  const look = (): void => {
    const { heapUsed, external } = process.memoryUsage();
    mostBytes = Math.max(mostBytes, heapUsed + external - heapBytes - externalBytes);
  };
  const timer = setInterval(look, 20);
  const start = performance.now();
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  return { seconds: (performance.now() - start) / 1000, mostBytes };
}

function templateOf(additions: Partial<SandboxTemplate>, ...command: readonly string[]): SandboxTemplate {
  return { name: 'bulky', command, environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [], ...additions };
}

async function uploaded(provider: SandboxProvider, additions: Partial<SandboxTemplate>, bytes: number): Promise<void> {
  const template = templateOf(additions, 'sh', '-c', 'read path; sha256sum "$path"');
  const sandbox = await provider.create({ id: parseSandboxId('upload'), template }, NEVER);
  const hash = createHash('sha256');
  const pieces = function* (): Generator<Buffer> {
    for (let sent = 0; sent < bytes; sent += PIECE) {
      const piece = randomBytes(PIECE);
      hash.update(piece);
      yield piece;
    }
  };
  const inside = await sandbox.upload('bulky', { kind: 'stream', stream: Readable.from(pieces()) }, NEVER);
  sandbox.stdin.end(`${inside}\n`);
  let said = '';
  for await (const chunk of sandbox.stdout) said += String(chunk);
  if (!said.startsWith(hash.digest('hex'))) throw new Error(`the sandbox has something else than was sent: ${said}`);
  await sandbox.destroy();
}

async function printed(provider: SandboxProvider, additions: Partial<SandboxTemplate>, bytes: number): Promise<void> {
  const template = templateOf(additions, 'head', '-c', String(bytes), '/dev/zero');
  const sandbox = await provider.create({ id: parseSandboxId('output'), template }, NEVER);
  let received = 0;
  for await (const chunk of sandbox.stdout) received += Buffer.from(chunk).length;
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes came`);
  await sandbox.destroy();
}

function check(what: string, { mostBytes }: Watched): Check {
  return {
    what: `memory above idle, ${what}`,
    target: '≤ 100 MiB',
    measured: `${(mostBytes / MIB).toFixed(0)} MiB`,
    met: mostBytes <= BOUND_BYTES,
  };
}
