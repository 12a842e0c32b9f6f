import { createHash, randomFillSync } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { parseSandboxId } from '../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../src/pool/sandbox.ts';
import type { SandboxTemplate } from '../src/pool/template.ts';
import type { Benchmark, Check, Cell } from './benchmark.ts';
import { FarEnd, type FarEndKind } from './far-end.ts';
import { ownMemory } from './memory-of.ts';

const MIB = 2 ** 20;
const BOUND_BYTES = 100 * MIB;
const LOOK_MS = 20;
/** What passes before anything is measured: it loads and compiles what is needed. */
const FIRST_BYTES = 4 * MIB;
const NEVER = new AbortController().signal;
const LIMITS = { memoryBytes: 2 ** 30, processes: 16, cpus: 2, diskBytes: 2 ** 24, lifetimeSeconds: 3600 };
const KINDS: readonly FarEndKind[] = ['exec', 'dial-back', 'E2B'];

export const bulkySandboxes: Benchmark = {
  name: 'bulky-sandboxes',
  summary: 'memory that a large file into a simulated pod or E2B sandbox, and a large output out of one, take in Muster',
  async run({ quick, say }) {
    const bytes = (quick ? 32 : 1024) * MIB;
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-bench-'));
    try {
      const [first, bulky] = [await fileOf(path.join(directory, 'first'), FIRST_BYTES), await fileOf(path.join(directory, 'bulky'), bytes)];
      const rows: (readonly Cell[])[] = [];
      const checks: Check[] = [];
      for (const kind of KINDS) {
        for (const way of await passed(kind, first, bulky, say)) {
          rows.push([way.what, bytes / MIB, way.seconds, ...[way.mostBytes, way.rssBytes, way.mostRssBytes].map((each) => each / MIB)]);
          checks.push(checkOf(way));
        }
      }
      const columns = ['', 'MiB', 'seconds', 'heap + external above idle, at most', 'resident before', 'resident, at most'];
      return { tables: [{ title: 'Memory of Muster’s process (MiB)', columns, rows }], checks, notes: NOTES };
    } finally {
      await rm(directory, { recursive: true });
    }
  },
};

const NOTES = [
  'The API server with its pods, or E2B with its sandboxes, is simulated in a process of its own: what is measured is Muster’s.',
  `Heap and external memory are what JavaScript and its buffers hold, garbage that nobody has collected yet included, looked at every ${LOOK_MS} ms while the bytes pass. Idle is just before, after a collection and ${FIRST_BYTES / MIB} MiB that went the same way.`,
  'All ways are taken in one process, one after the other: what one has made resident the next has to its disposal.',
];

interface File {
  readonly hostPath: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Written with what no compression and no mix-up of its parts leaves as it is. */
async function fileOf(hostPath: string, bytes: number): Promise<File> {
  const hash = createHash('sha256');
  const piece = Buffer.allocUnsafe(MIB);
  await using file = await open(hostPath, 'w');
  for (let written = 0; written < bytes; written += piece.length) {
    randomFillSync(piece);
    hash.update(piece);
    await file.writeFile(piece);
  }
  return { hostPath, bytes, sha256: hash.digest('hex') };
}

interface Way extends Watched {
  readonly what: string;
}

/** The file into a sandbox, and as much output out of one. */
async function passed(kind: FarEndKind, first: File, bulky: File, say: (text: string) => void): Promise<readonly Way[]> {
  await using farEnd = await FarEnd.open(kind);
  const { provider, additions } = await farEnd.muster();
  await using _closing = provider;
  say(`a file into a sandbox, ${kind}`);
  await uploaded(provider, additions, first);
  const upload = await watched(() => uploaded(provider, additions, bulky));
  say(`output out of a sandbox, ${kind}`);
  await printed(provider, additions, first.bytes);
  const output = await watched(() => printed(provider, additions, bulky.bytes));
  return [
    { what: `a file, uploaded (${kind})`, ...upload },
    { what: `output, read (${kind})`, ...output },
  ];
}

interface Watched {
  readonly seconds: number;
  /** Of heap and external memory, above what there was before. */
  readonly mostBytes: number;
  /** Before. */
  readonly rssBytes: number;
  readonly mostRssBytes: number;
}

async function watched(act: () => Promise<void>): Promise<Watched> {
  const { heapBytes, externalBytes, rssBytes } = ownMemory();
  let mostBytes = 0;
  let mostRssBytes = rssBytes;
  const look = (): void => {
    const { heapUsed, external, rss } = process.memoryUsage();
    mostBytes = Math.max(mostBytes, heapUsed + external - heapBytes - externalBytes);
    mostRssBytes = Math.max(mostRssBytes, rss);
  };
  const timer = setInterval(look, LOOK_MS);
  const start = performance.now();
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  return { seconds: (performance.now() - start) / 1000, mostBytes, rssBytes, mostRssBytes };
}

async function uploaded(provider: SandboxProvider, additions: Partial<SandboxTemplate>, { hostPath, sha256 }: File): Promise<void> {
  const sandbox = await create(provider, additions, 'upload', ['sh', '-c', 'read path; sha256sum "$path"']);
  const inside = await sandbox.upload('bulky', { kind: 'file', hostPath }, NEVER);
  sandbox.stdin.end(`${inside}\n`);
  let said = '';
  for await (const chunk of sandbox.stdout) said += String(chunk);
  if (!said.startsWith(sha256)) throw new Error(`the sandbox has something else than was sent: ${said}`);
  await sandbox.destroy();
}

async function printed(provider: SandboxProvider, additions: Partial<SandboxTemplate>, bytes: number): Promise<void> {
  const sandbox = await create(provider, additions, 'output', ['head', '-c', String(bytes), '/dev/zero']);
  let received = 0;
  sandbox.stdout.on('data', (chunk: Buffer) => (received += chunk.length));
  await finished(sandbox.stdout);
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes came`);
  await sandbox.destroy();
}

function create(
  provider: SandboxProvider,
  additions: Partial<SandboxTemplate>,
  name: string,
  command: readonly string[],
): Promise<Sandbox> {
  const surroundings = { environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [] } as const;
  return provider.create({ id: parseSandboxId(name), template: { name: 'bulky', command, ...surroundings, ...additions } }, NEVER);
}

function checkOf({ what, mostBytes }: Way): Check {
  return {
    what: `memory above idle, ${what}`,
    target: '≤ 100 MiB',
    measured: `${(mostBytes / MIB).toFixed(0)} MiB`,
    met: mostBytes <= BOUND_BYTES,
  };
}
