import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Benchmark, BenchmarkContext, Check } from './benchmark.ts';
import { availableBytes, sandboxMemory } from './memory-of.ts';
import { OwnMuster } from './own-muster.ts';
import type { Start } from './real-sandboxes.ts';
import { tablePolicy } from './table-policy.ts';
import { timedEpisodes, timedSuite } from './timed-episodes.ts';

const MB = 1e6;
const SIZES = {
  full: { sandboxes: 500, plain: 4, bytes: 1e9, holdSeconds: 15 },
  quick: { sandboxes: 4, plain: 2, bytes: 5e7, holdSeconds: 3 },
};
/** With what the policy needs: otherwise sandboxes that share nothing import it each, and what is shared seems to cost less than nothing. */
const IMPORTS = ['gymnasium', 'numpy', 'onnxruntime'];
const SMALL_BYTES = 1e5;
const SAMPLE_MILLISECONDS = 20;

/** What came of one evaluation in which every sandbox plays one episode. */
interface Shared {
  /** From the call of evaluate() to the end of the first episode in the last sandbox. */
  readonly seconds: number;
  readonly pssBytes: number;
  readonly missingBytes: number;
  /** The most that was missing at any time. */
  readonly peakBytes: number;
  /** Sandboxes that played. */
  readonly played: number;
}

const READING = 'reading the file';
const STARTS: readonly Start[] = ['forked', 'plain'];

function withName(start: Start, policy: 'small' | 'large'): string {
  return `${start} sandboxes with a ${policy} policy`;
}

export const sharedPolicy: Benchmark = {
  name: 'shared-policy',
  summary: 'a policy of one gigabyte in hundreds of sandboxes: memory, and time from the file on disk to the first episode in the last',
  measurements: () => [READING, ...STARTS.flatMap((start) => [withName(start, 'small'), withName(start, 'large')])],
  async run({ quick, say, measured }: BenchmarkContext) {
    const { sandboxes, plain, bytes, holdSeconds } = quick ? SIZES.quick : SIZES.full;
    const made = async (name: string, size: number): Promise<string> => {
      const path = join(files.directory, name);
      await tablePolicy('make', path, `${size}`);
      return path;
    };
    // Nothing runs in it: it has the directory.
    await using files = await OwnMuster.open({});
    say(`writing a policy of ${bytes / MB} MB`);
    const small = await made('small.onnx', SMALL_BYTES);
    const large = await made('large.onnx', bytes);
    const { size } = await stat(large);
    const readSeconds = await measured(READING, async () => Number(await tablePolicy('read', large)));
    const rows: Row[] = [];
    for (const start of STARTS) {
      const count = start === 'forked' ? sandboxes : plain;
      const without = await measured(withName(start, 'small'), () => shared(start, count, small, small, holdSeconds));
      const withLarge = await measured(withName(start, 'large'), () => shared(start, count, small, large, holdSeconds));
      rows.push({ start, count, without, shared: withLarge });
    }
    return {
      tables: [timeTable(size, readSeconds, rows), memoryTable(rows)],
      checks: rows.filter(({ start }) => start === 'forked').flatMap((row) => checksOf(row, size, readSeconds)),
      notes: [
        'The file is not in the page cache when it is read, nor when the evaluation begins. Muster, its zygote and two sandboxes run already. Each sandbox plays one episode of one step, and is then kept busy until all have theirs.',
        'Extra: beyond what as many sandboxes with a policy of 0.1 MB take. PSS of all processes, the zygote included, after all have played. Missing: what the whole machine has less available.',
      ],
    };
  },
};

interface Row {
  readonly start: Start;
  readonly count: number;
  readonly without: Shared;
  readonly shared: Shared;
}

async function shared(start: Start, count: number, first: string, policy: string, holdSeconds: number): Promise<Shared> {
  await using own = await OwnMuster.open({ 'pool.max': count, 'templates.local.start': start, 'templates.local.imports': IMPORTS });
  // Opens pool and zygote; two sandboxes stay.
  await own.muster.evaluate({ suite: timedSuite(2, 0), checkpoint: first });
  const before = availableBytes();
  let lowest = before;
  const watch = setInterval(() => (lowest = Math.min(lowest, availableBytes())), SAMPLE_MILLISECONDS);
  const out = join(own.directory, 'results');
  const began = Date.now();
  try {
    await own.muster.evaluate({ suite: timedSuite(count, holdSeconds), checkpoint: policy }, { out });
  } finally {
    clearInterval(watch);
  }
  const { sandboxes, zygote } = sandboxMemory(start);
  const episodes = await timedEpisodes(out);
  return {
    seconds: Math.max(...episodes.map(({ first_ended }) => first_ended)) - began / 1000,
    pssBytes: sandboxes.pssBytes + zygote.pssBytes,
    missingBytes: before - availableBytes(),
    peakBytes: before - lowest,
    played: new Set(episodes.map(({ sandbox }) => sandbox)).size,
  };
}

function timeTable(size: number, readSeconds: number, rows: readonly Row[]) {
  return {
    title: `A policy of ${(size / MB).toFixed(0)} MB; reading its file once takes ${readSeconds.toFixed(2)} s`,
    columns: [
      '',
      'sandboxes',
      'of which played',
      'seconds to the first episode in the last',
      'of which beyond reading the file',
      'with a small policy',
    ],
    rows: rows.map(({ start, count, shared, without }) => [
      start,
      count,
      shared.played,
      shared.seconds,
      shared.seconds - readSeconds,
      without.seconds,
    ]),
  };
}

function memoryTable(rows: readonly Row[]) {
  return {
    title: 'Extra memory (MB)',
    columns: ['', 'sandboxes', 'PSS', 'missing', 'missing at the most'],
    rows: rows.map(({ start, count, shared, without }) => [start, count, ...extra(shared, without).map((bytes) => bytes / MB)]),
  };
}

function extra(shared: Shared, without: Shared): readonly number[] {
  return [shared.pssBytes - without.pssBytes, shared.missingBytes - without.missingBytes, shared.peakBytes - without.peakBytes];
}

function checksOf({ count, shared, without }: Row, size: number, readSeconds: number): readonly Check[] {
  const what = `a policy of ${(size / MB).toFixed(0)} MB in ${count} forked sandboxes`;
  const ratio = (shared.pssBytes - without.pssBytes) / size;
  const beyond = shared.seconds - readSeconds;
  const all = shared.played === count;
  return [
    { what: `${what}, all play`, target: `${count}`, measured: `${shared.played}`, met: all },
    { what: `${what}, extra memory`, target: '≤ 1.1 × the file', measured: `${ratio.toFixed(2)} ×`, met: all && ratio <= 1.1 },
    {
      what: `${what}, from the file on disk to the first episode in the last`,
      target: '≤ reading it once + 3 s',
      measured: `reading it once ${beyond < 0 ? '−' : '+'} ${Math.abs(beyond).toFixed(2)} s`,
      met: all && beyond <= 3,
    },
  ];
}
