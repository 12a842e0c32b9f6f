import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, BenchmarkContext, Check } from './benchmark.ts';
import { availableBytes, sandboxMemory } from './memory-of.ts';
import { OwnMuster } from './own-muster.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';
import { tablePolicy } from './table-policy.ts';
import { timedEpisodes, timedSuite } from './timed-episodes.ts';

const MB = 1e6;
const SIZES = {
  full: { sandboxes: 500, bytes: 1e9, holdSeconds: 15, loads: 20 },
  quick: { sandboxes: 4, bytes: 5e7, holdSeconds: 3, loads: 3 },
};
/** With what the policies need, as a template for such policies has it. */
const IMPORTS = ['gymnasium', 'numpy', 'onnxruntime'];
const SMALL_BYTES = 1e5;
const SAMPLE_MILLISECONDS = 20;
const DIGESTS = 3;

/** What any way of bringing a checkpoint in front of sandboxes needs. */
interface Yardsticks {
  /** Reading and hashing the file once that is not in the page cache, with memory that was free for as long as before a request. */
  readonly digest: Spread;
  /** With memory that was freed a moment before: a virtual machine has it still, and need not ask its host for it. */
  readonly digestAtOnce: Spread;
  /** All that sandboxes have to do for themselves, on all processors. */
  readonly loadSeconds: number;
}

/** What came of one evaluation in which every sandbox plays one episode. */
interface Played {
  readonly before: string;
  /** From the call of evaluate() to the end of the first episode in the last sandbox. */
  readonly seconds: number;
  readonly firstSeconds: number;
  readonly sandboxes: number;
  readonly created: number;
  /** PSS of all sandboxes and of what they are forked from. */
  readonly pssBytes: number;
  /** What the whole machine had less available at any time than before the evaluation. */
  readonly peakBytes: number;
}

const YARDSTICKS = 'reading, hashing and loading the file';
const IN_TURN = 'a small policy, a large one, the next large one';

export const nextPolicy: Benchmark = {
  name: 'next-policy',
  summary: 'a checkpoint of one gigabyte for hundreds of warm sandboxes: from the request to the first episode in the last, and memory',
  measurements: () => [YARDSTICKS, IN_TURN],
  async run({ quick, say, measured }: BenchmarkContext) {
    const { sandboxes, bytes, holdSeconds, loads } = quick ? SIZES.quick : SIZES.full;
    await using own = await OwnMuster.open({ 'pool.max': sandboxes, 'templates.local.imports': IMPORTS });
    const made = async (name: string, size: number): Promise<string> => {
      const path = join(own.directory, name);
      await tablePolicy('make', path, `${size}`);
      return path;
    };
    say(`writing two policies of ${bytes / MB} MB`);
    const small = await made('small.onnx', SMALL_BYTES);
    const large = await made('large.onnx', bytes);
    const next = await made('next.onnx', bytes - SMALL_BYTES);
    const yardsticks = await measured(YARDSTICKS, () => yardsticksOf({ small, large }, { loads, sandboxes, holdSeconds }));
    const episodes = async (policy: string, before: string): Promise<Played> => {
      say(`${sandboxes} sandboxes ${before}`);
      return await played(own, policy, before, sandboxes, holdSeconds);
    };
    // Each needs the sandboxes of the one before it.
    const { first, rows } = await measured(IN_TURN, async () => ({
      first: await episodes(small, 'that are still to be made, a small policy'),
      rows: [await episodes(large, 'that have played a small policy'), await episodes(next, 'that have played a large one')],
    }));
    return {
      tables: [timeTable(bytes, yardsticks, rows), memoryTable(first, rows)],
      checks: rows.flatMap((row) => checksOf(first, row, { sandboxes, bytes }, yardsticks)),
      notes: [
        'No file is in the page cache when it is asked for. Each sandbox plays one episode of one step, and is then kept busy until all have theirs. All sandboxes are there, and have played the policy before.',
        'Reading and hashing: one process, one block after the other; after a pause as long as that before each request, in which free memory goes back to the host of a virtual machine, and once more right afterwards. The target is of the first. Own load time: what the code of the runner takes of a processor to load the policy and act once, the file in the page cache and nothing verified, in a process that has loaded the small one before (median), times the sandboxes, divided by the processors.',
        'Extra: PSS of all processes, the zygotes included, beyond what it is when all have played a policy of 0.1 MB. At the most: what the whole machine had less available at any time than before the evaluation, page cache that could be given back not counted.',
      ],
    };
  },
};

async function yardsticksOf(
  { small, large }: { readonly small: string; readonly large: string },
  { loads, sandboxes, holdSeconds }: { readonly loads: number; readonly sandboxes: number; readonly holdSeconds: number },
): Promise<Yardsticks> {
  const digest: number[] = [];
  const digestAtOnce: number[] = [];
  for (let i = 0; i < DIGESTS; i += 1) {
    await sleep(holdSeconds * 1000);
    digest.push(Number(await tablePolicy('digest', large)));
    digestAtOnce.push(Number(await tablePolicy('digest', large)));
  }
  const load = Number(await tablePolicy('load', large, small, `${loads}`));
  return { digest: spreadOf(digest), digestAtOnce: spreadOf(digestAtOnce), loadSeconds: (load * sandboxes) / availableParallelism() };
}

async function played(own: OwnMuster, policy: string, before: string, sandboxes: number, holdSeconds: number): Promise<Played> {
  const available = availableBytes();
  let lowest = available;
  const watch = setInterval(() => (lowest = Math.min(lowest, availableBytes())), SAMPLE_MILLISECONDS);
  const out = join(own.directory, before.replaceAll(' ', '-'));
  const began = Date.now() / 1000;
  try {
    const { run } = await own.muster.evaluate({ suite: timedSuite(sandboxes, holdSeconds), checkpoint: policy }, { out });
    const memory = sandboxMemory('forked');
    const episodes = await timedEpisodes(out);
    const ended = episodes.map(({ first_ended }) => first_ended - began);
    return {
      before,
      seconds: Math.max(...ended),
      firstSeconds: Math.min(...ended),
      sandboxes: new Set(episodes.map(({ sandbox }) => sandbox)).size,
      created: run.pool.created,
      pssBytes: memory.sandboxes.pssBytes + memory.zygote.pssBytes,
      peakBytes: available - lowest,
    };
  } finally {
    clearInterval(watch);
  }
}

function timeTable(bytes: number, { digest, digestAtOnce, loadSeconds }: Yardsticks, rows: readonly Played[]) {
  return {
    title: `A policy of ${bytes / MB} MB: reading and hashing its file once takes ${showSpread(digest, 2)} s, or ${showSpread(digestAtOnce, 2)} s right afterwards; its own load time is ${loadSeconds.toFixed(2)} s`,
    columns: ['sandboxes', 'of which played', 'made anew', 'seconds to the first episode in the first', 'in the last'],
    rows: rows.map(({ before, sandboxes, created, firstSeconds, seconds }) => [before, sandboxes, created, firstSeconds, seconds]),
  };
}

function memoryTable(first: Played, rows: readonly Played[]) {
  return {
    title: 'Memory (MB)',
    columns: ['sandboxes', 'extra (PSS)', 'missing at the most'],
    rows: rows.map(({ before, pssBytes, peakBytes }) => [before, (pssBytes - first.pssBytes) / MB, peakBytes / MB]),
  };
}

function checksOf(
  first: Played,
  row: Played,
  { sandboxes, bytes }: { readonly sandboxes: number; readonly bytes: number },
  { digest, loadSeconds }: Yardsticks,
): readonly Check[] {
  const what = `a policy of ${bytes / MB} MB in ${sandboxes} sandboxes ${row.before}`;
  const all = row.sandboxes === sandboxes;
  const ratio = (row.pssBytes - first.pssBytes) / bytes;
  const bound = 1.5 * digest.median + loadSeconds;
  return [
    { what: `${what}, all play`, target: `${sandboxes}`, measured: `${row.sandboxes}`, met: all },
    {
      what: `${what}, from the request to the first episode in the last`,
      target: `≤ 1.5 × reading and hashing it once + its own load time = ${bound.toFixed(2)} s`,
      measured: `${row.seconds.toFixed(2)} s`,
      met: all && row.seconds <= bound,
    },
    { what: `${what}, extra memory`, target: '≤ 1.1 × the file', measured: `${ratio.toFixed(2)} ×`, met: all && ratio <= 1.1 },
  ];
}
