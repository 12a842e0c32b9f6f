import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { oneByOne, playBare } from './bare-loop.ts';
import { NOOP, RealSandboxes } from './real-sandboxes.ts';

const SANDBOXES = 16;
/** A system call that is made less often than this for an episode is not worth a line. */
const LEAST = 0.01;

const MUSTER = 'calls of Muster';
const BARE = 'calls of the bare loop';
/** How often each was made, by name. */
type Calls = Readonly<Record<string, number>>;

function hasStrace(): boolean {
  return spawnSync('strace', ['-V']).status === 0;
}

export const systemCalls: Benchmark = {
  name: 'system-calls',
  summary: "what an episode costs in system calls of Muster's process, beside the bare loop",
  measurements: () => (hasStrace() ? [MUSTER, BARE] : []),
  async run({ quick, measured }) {
    if (!hasStrace()) {
      return { tables: [], checks: [], notes: ['Left out: strace is not installed (apt-get install strace).'] };
    }
    const episodes = quick ? 1_000 : 10_000;
    await using sandboxes = await RealSandboxes.warm(SANDBOXES);
    const request = await sandboxes.request(NOOP, episodes);
    await sandboxes.evaluate(request);
    const muster = await measured(MUSTER, () => traced(() => sandboxes.evaluate(request)));
    const bare = await measured(BARE, () => traced(() => playBare(sandboxes, request, episodes, oneByOne)));
    const names = [...new Set([...Object.keys(muster), ...Object.keys(bare)])];
    const rows: Cell[][] = names
      .map((name) => ({ name, muster: (muster[name] ?? 0) / episodes, bare: (bare[name] ?? 0) / episodes }))
      .filter(({ muster, bare }) => Math.max(muster, bare) >= LEAST)
      .sort((a, b) => b.muster - a.muster)
      .map(({ name, muster, bare }) => [name, muster.toFixed(2), bare.toFixed(2)]);
    const total = (calls: Calls): string => (Object.values(calls).reduce((a, b) => a + b, 0) / episodes).toFixed(2);
    rows.push(['all', total(muster), total(bare)]);
    return {
      tables: [{ title: `No-op episodes on ${SANDBOXES} sandboxes: calls an episode`, columns: ['', 'Muster', 'bare loop'], rows }],
      checks: [],
      notes: [
        'Counted by strace in all threads of the process, not in the sandboxes; loading the policy is part of it. strace slows the process down.',
      ],
    };
  },
};

/** How often this process made which system call meanwhile. */
async function traced(work: () => Promise<unknown>): Promise<Calls> {
  const directory = await mkdtemp(join(tmpdir(), 'muster-strace-'));
  const output = join(directory, 'counts');
  const tracer = spawn('strace', ['-c', '-f', '-o', output, '-p', `${process.pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    await attached(tracer);
    await work();
    const ended = once(tracer, 'exit');
    tracer.kill('SIGINT');
    await ended;
    return parseCounts(await readFile(output, 'utf8'));
  } finally {
    tracer.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  }
}

async function attached(tracer: ChildProcess): Promise<void> {
  const deadline = AbortSignal.timeout(10_000);
  let said = '';
  tracer.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  while (!said.includes('attached')) {
    if (deadline.aborted || tracer.exitCode !== null) throw new Error(`strace could not attach: ${said}`);
    await sleep(systemClock, 20);
  }
}

/** Lines of "% time, seconds, µs a call, calls, errors (or nothing), name". */
function parseCounts(text: string): Calls {
  const counts: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const [, calls, name] = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z_]\w*)$/.exec(line) ?? [];
    if (calls !== undefined && name !== undefined && name !== 'total') counts[name] = Number(calls);
  }
  return counts;
}
