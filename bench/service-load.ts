import { loadavg } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { OwnServer } from './own-server.ts';
import { LATE_CHECKPOINT } from './real-sandboxes.ts';

const EPISODES = 20;
const CALLERS = 200;
/** A caller that asks again and again while others do. */
const STEADY_CALLERS = 16;
const ANSWER_SECONDS = 120;
const TARGET_MILLISECONDS = 20;
/** Of the process's memory, from the middle of the time to its end: what a heap breathes. */
const MOST_GROWTH = 1.1;

const SUITES = {
  noop: {
    name: 'noop',
    environment: 'noop:make',
    files: join(PACKAGE_ROOT, 'bench/environments'),
    reward: { bounds: [0, 1] },
    stop: { rule: 'fixed', episodes: EPISODES },
  },
};

const ALONE = 'from the cache, one caller';
const MANY = `from the cache, ${STEADY_CALLERS} callers`;
const CROWD = `played for ${CALLERS} callers`;
const MEMORY = 'memory of the server';

export const serviceLoad: Benchmark = {
  name: 'service-load',
  summary: 'muster serve under load: 200 callers at once, answers from the cache, and memory over ten minutes',
  measurements: () => [ALONE, MANY, CROWD, MEMORY],
  async run({ quick, measured }) {
    const requested = quick ? 200 : 1000;
    await using server = await OwnServer.start(SUITES, { pool: { max: 4, warm: 4 } });
    await ask(server, 'on');
    const alone = await measured(ALONE, () => asked(server, { callers: 1, requests: quick ? 50 : 1000, cache: 'on' }));
    const many = await measured(MANY, () => asked(server, { callers: STEADY_CALLERS, requests: quick ? 100 : 2000, cache: 'on' }));
    const { crowd, beside } = await measured(CROWD, () => crowded(server, requested));
    const memory = await measured(MEMORY, () => memoryOver(server, quick ? 15 : 600));
    return {
      tables: [
        {
          title: `Evaluations of ${EPISODES} no-op episodes, asked for over the loopback with ?wait`,
          columns: ['what', 'callers', 'evaluations', 'a second', 'p50 (ms)', 'p99 (ms)', 'server CPU (ms each)', 'load'],
          rows: [
            rowOf('from the cache', alone),
            rowOf('from the cache', many),
            rowOf('played', crowd),
            rowOf(`from the cache, beside those ${CALLERS}`, beside),
          ],
        },
        {
          title: `Memory of the server's process under ${STEADY_CALLERS} callers, half of whom have episodes played`,
          columns: ['seconds', 'evaluations', 'RSS at first (MiB)', 'in the middle', 'at the end', 'end / middle'],
          rows: [memory.row],
        },
      ],
      checks: [...checksOf(alone, beside, crowd, requested), memory.check],
      notes: [
        'From the request to the answer, as the caller sees it: JSON over a kept connection. An answer from the cache is an evaluation of its own, stored with all of its episodes.',
        'Beside the crowd, the processor time of the server is that of all callers.',
        'The load is the average number of running processes of the last minute, this benchmark included.',
      ],
    };
  },
};

interface Asking {
  readonly callers: number;
  /** As long as `isOver` is false when left out. */
  readonly requests?: number;
  readonly cache: 'on' | 'off';
}

interface Measured extends Asking {
  readonly answered: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuMilliseconds: number;
}

/** The crowd has its evaluations played; meanwhile another caller asks again and again for what the server knows. */
async function crowded(server: OwnServer, requests: number): Promise<{ readonly crowd: Measured; readonly beside: Measured }> {
  let isOver = false;
  const crowd = asked(server, { callers: CALLERS, requests, cache: 'off' }).finally(() => (isOver = true));
  const beside = asked(server, { callers: 1, cache: 'on' }, () => isOver);
  return { crowd: await crowd, beside: await beside };
}

async function asked(server: OwnServer, asking: Asking, isOver = (): boolean => false): Promise<Measured> {
  const { callers, requests = Infinity, cache } = asking;
  const milliseconds: number[] = [];
  let left = requests;
  const [start, cpu] = [performance.now(), server.cpuSeconds];
  const caller = async (): Promise<void> => {
    while (left > 0 && !isOver()) {
      left -= 1;
      const sent = performance.now();
      await ask(server, cache);
      milliseconds.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - start) / 1000;
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  const cpuMilliseconds = (1000 * (server.cpuSeconds - cpu)) / sorted.length;
  return { ...asking, answered: sorted.length, perSecond: sorted.length / seconds, p50: at(0.5), p99: at(0.99), cpuMilliseconds };
}

const answerSchema = z.object({
  state: z.literal('finished'),
  summary: z.object({ partial: z.literal(false), official: z.object({ episodes: z.literal(EPISODES) }) }),
});

/** @throws Error unless it is answered with all of its episodes. */
async function ask(server: OwnServer, cache: 'on' | 'off'): Promise<void> {
  const answer = await fetch(`${server.url}/v1/evaluations?wait=${ANSWER_SECONDS}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ suite: 'noop', checkpoint: { uri: LATE_CHECKPOINT }, cache }),
  });
  const text = await answer.text();
  if (!answerSchema.safeParse(JSON.parse(text)).success) throw new Error(`${answer.status}: ${text.slice(0, 500)}`);
}

function rowOf(what: string, { callers, answered, perSecond, p50, p99, cpuMilliseconds }: Measured): Cell[] {
  return [what, callers, answered, perSecond, p50.toFixed(1), p99.toFixed(1), cpuMilliseconds.toFixed(1), (loadavg()[0] ?? 0).toFixed(1)];
}

function checksOf(alone: Measured, beside: Measured, crowd: Measured, requested: number): readonly Check[] {
  return [
    cachedCheck('an evaluation served from the cache, one caller, p99', alone),
    cachedCheck(`the same beside ${CALLERS} callers whose evaluations are played, p99`, beside),
    {
      what: `evaluations of ${CALLERS} concurrent callers that were answered`,
      target: `${requested}`,
      measured: `${crowd.answered}`,
      met: crowd.answered === requested,
    },
  ];
}

function cachedCheck(what: string, { p99 }: Measured): Check {
  return { what, target: `≤ ${TARGET_MILLISECONDS} ms`, measured: `${p99.toFixed(1)} ms`, met: p99 <= TARGET_MILLISECONDS };
}

async function memoryOver(server: OwnServer, seconds: number): Promise<{ readonly row: Cell[]; readonly check: Check }> {
  const end = performance.now() + 1000 * seconds;
  const samples: number[] = [];
  let evaluations = 0;
  const caller = async (_: unknown, at: number): Promise<void> => {
    while (performance.now() < end) {
      await ask(server, at % 2 === 0 ? 'on' : 'off');
      evaluations += 1;
      if (at === 0) samples.push(server.rssBytes);
    }
  };
  await Promise.all(Array.from({ length: STEADY_CALLERS }, caller));
  const third = Math.floor(samples.length / 3);
  const [first, middle, last] = [0, 1, 2].map((part) => medianMebibytes(samples.slice(part * third, (part + 1) * third)));
  const growth = (last ?? Number.NaN) / (middle ?? Number.NaN);
  return {
    row: [seconds, evaluations, first ?? 0, middle ?? 0, last ?? 0, growth],
    check: {
      what: `memory of the server over ${seconds} s, last third beside the middle one`,
      target: `≤ ${MOST_GROWTH} ×`,
      measured: `${growth.toFixed(2)} ×`,
      met: growth <= MOST_GROWTH,
    },
  };
}

function medianMebibytes(bytes: readonly number[]): number {
  return Math.round((bytes.toSorted((a, b) => a - b)[Math.floor(bytes.length / 2)] ?? Number.NaN) / 2 ** 20);
}
