import { fork } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { KINDS, type FarEndKind } from './far-end.ts';

const MIB = 2 ** 20;
const BOUND_BYTES = 100 * MIB;
const FIRST_BYTES = 4 * MIB;
const passageSchema = z.object({ seconds: z.number(), cpuSeconds: z.number(), mostBytes: z.number(), mostRssBytes: z.number() });

/** What something bulky took on its way: the bytes are above what there was before. */
export type Passage = z.infer<typeof passageSchema>;

export interface BulkyFile {
  readonly hostPath: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Order {
  readonly kind: FarEndKind;
  /** The file into a sandbox, or as much output out of one. */
  readonly way: 'upload' | 'output';
  /** What passes before anything is measured. */
  readonly first: BulkyFile;
  readonly bulky: BulkyFile;
}

const WORDS = { upload: 'a file, uploaded', output: 'output, read' } as const;
const NOTES = [
  'Each way is taken once, by a Muster in a process of its own, which is started with the options of the `muster` command; the API server with its pods, or E2B with its sandboxes, is simulated in another one, which is not counted.',
  `Heap and external memory are what JavaScript and its buffers hold, including garbage that is not collected yet, looked at every 20 ms while the bytes pass. Idle is just before, after a collection and ${FIRST_BYTES / MIB} MiB that went the same way.`,
];

const WAYS = ['upload', 'output'] as const;

function nameOf(kind: FarEndKind, way: Order['way']): string {
  return `${WORDS[way]} (${kind})`;
}

export const bulkySandboxes: Benchmark = {
  name: 'bulky-sandboxes',
  summary: 'memory that a large file into a simulated pod or E2B sandbox, and a large output out of one, take in Muster',
  measurements: () => KINDS.flatMap((kind) => WAYS.map((way) => nameOf(kind, way))),
  async run({ quick, measured }) {
    const bytes = (quick ? 8 : 1024) * MIB;
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-bench-'));
    try {
      const first = await fileOf(path.join(directory, 'first'), FIRST_BYTES);
      const bulky = await fileOf(path.join(directory, 'bulky'), bytes);
      const options = await optionsOfCommand();
      const rows: (readonly Cell[])[] = [];
      const checks: Check[] = [];
      for (const kind of KINDS) {
        for (const way of WAYS) {
          const what = nameOf(kind, way);
          const { seconds, cpuSeconds, mostBytes, mostRssBytes } = await measured(what, () => passed({ kind, way, first, bulky }, options));
          rows.push([what, bytes / MIB, seconds, cpuSeconds, mostBytes / MIB, mostRssBytes / MIB]);
          checks.push(checkOf(what, mostBytes));
        }
      }
      const columns = ['', 'MiB', 'seconds', 'of a processor', 'heap and external above idle, at most', 'resident above idle, at most'];
      return { tables: [{ title: 'Memory of Muster’s process (MiB)', columns, rows }], checks, notes: NOTES };
    } finally {
      await rm(directory, { recursive: true });
    }
  },
};

/** What the `muster` command starts Node with. */
async function optionsOfCommand(): Promise<readonly string[]> {
  const options = /^exec "\$node" (.*)"\$here\/src\/cli\/muster\.ts"/m.exec(await readFile(path.join(PACKAGE_ROOT, 'muster'), 'utf8'))?.[1];
  if (options === undefined) throw new Error('the muster command starts Node in a way that is not known here');
  return options.split(' ').filter((option) => option !== '');
}

/** Written with what no mix-up of its parts leaves as it is. */
async function fileOf(hostPath: string, bytes: number): Promise<BulkyFile> {
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

/** @throws Error when its process ends without an answer. */
async function passed(order: Order, execArgv: readonly string[]): Promise<Passage> {
  const child = fork(path.join(import.meta.dirname, 'bulky-way.ts'), [JSON.stringify(order)], { execArgv: [...execArgv] });
  const answers: unknown[] = [];
  child.on('message', (answer) => answers.push(answer));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`bulky-way.ts ended with ${code ?? 'a signal'}`);
  return passageSchema.parse(answers[0]);
}

function checkOf(what: string, mostBytes: number): Check {
  return {
    what: `memory above idle, ${what}`,
    target: '≤ 100 MiB',
    measured: `${(mostBytes / MIB).toFixed(0)} MiB`,
    met: mostBytes <= BOUND_BYTES,
  };
}
