import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, BenchmarkContext, Cell, Check, Table } from './benchmark.ts';
import { PYTHON } from './machine.ts';
import { otherTools } from './other-tools.ts';
import { CARTPOLE, RealSandboxes, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';
import { vectorEnvironments, type Rates, type VectorKind } from './vector-environments.ts';

const UNITS = { full: [64, 256], quick: [64] };
const LOCKSTEP = { mode: 'lockstep', width: 64, block: 256 } as const;
const VECTOR = { mode: 'vector', width: 256 } as const;
/** About as long as the peers are measured. */
const EPISODES = { single: 1_500, lockstep: 2_560, vector: 40_960 };
const QUICK_EPISODES = { single: 200, lockstep: 512, vector: 2_048 };
const ROUNDS = 4;
const PEER_SECONDS = 5;
const run = promisify(execFile);

/** Something that plays CartPole with a policy. @returns steps a second: the loops' episodes end all at the same time, or none does. */
interface Contestant {
  readonly name: string;
  readonly play: () => Promise<number>;
}

export const playedTogether: Benchmark = {
  name: 'played-together',
  summary: 'CartPole one by one, in lockstep and in its vector form, beside loops over vector environments without isolation',
  measurements: (quick) =>
    unitsOf(quick).flatMap((units) =>
      roundsOf(quick)
        .map((round) => roundName(units, round))
        .concat(othersName(units)),
    ),
  async run(context) {
    const tables: Table[] = [];
    const checks: Check[] = [];
    for (const units of unitsOf(context.quick)) {
      await using sandboxes = await RealSandboxes.warm(availableParallelism());
      const checkpoint = join(sandboxes.directory, `mlp-${units}.safetensors`);
      await run(PYTHON, [join(PACKAGE_ROOT, 'bench/policies/balancing_mlp.py'), checkpoint, `${units}`]);
      const rates = await inTurns(contestants(sandboxes, checkpoint, context), context, units);
      const others = await context.measured(othersName(units), () => otherTools(checkpoint, context));
      tables.push(tableOf(units, rates, others));
      checks.push(...checksOf(units, rates));
    }
    return {
      tables,
      checks,
      notes: [
        `Muster plays on one warm sandbox for each of ${availableParallelism()} processors, isolation on; its time reaches from the request, loading the policy included, to the last outcome. Lockstep has 64 rows and blocks of 256 episodes, the vector form 256 rows.`,
        'The loops have one process for each processor, and neither isolation nor statistics; SyncVectorEnv has 64 environments in each, the vector form 256. AsyncVectorEnv has one process for each of 16 environments.',
        'Ratios are of neighbouring runs. What is not installed was not measured: MUSTER_PEERS_PYTHON names an interpreter that has EnvPool and Stable-Baselines3.',
      ],
    };
  },
};

function unitsOf(quick: boolean): readonly number[] {
  return quick ? UNITS.quick : UNITS.full;
}

function roundsOf(quick: boolean): readonly number[] {
  return Array.from({ length: quick ? 1 : ROUNDS }, (_, round) => round);
}

function roundName(units: number, round: number): string {
  return `MLP ${units}–${units}, round ${round + 1}`;
}

function othersName(units: number): string {
  return `MLP ${units}–${units}, other tools`;
}

function contestants(sandboxes: RealSandboxes, checkpoint: string, { quick }: BenchmarkContext): readonly Contestant[] {
  const sizes = quick ? QUICK_EPISODES : EPISODES;
  const muster = (play: PlayDeclaration): Contestant => ({
    name: play.mode,
    play: async () => (await musterRates(sandboxes, { ...CARTPOLE, play, checkpoint }, sizes[play.mode])).stepsPerSecond,
  });
  const peer = (kind: VectorKind, environments: number): Contestant => ({
    name: `bare ${kind}`,
    play: async () => {
      const processes = kind === 'async' ? 1 : availableParallelism();
      const seconds = quick ? 1 : PEER_SECONDS;
      return (await vectorEnvironments({ kind, environments, processes, seconds, checkpoint })).stepsPerSecond;
    },
  });
  return [muster({ mode: 'single' }), muster(LOCKSTEP), peer('sync', 64), muster(VECTOR), peer('vector', 256), peer('async', 16)];
}

/** Until the last outcome is in; the figures of the summary, which take their time for many episodes, are nothing that the others have. */
export async function musterRates(
  sandboxes: RealSandboxes,
  workload: Workload,
  episodes: number,
): Promise<Rates & { readonly mean: number | null; readonly steps: number }> {
  const request = await sandboxes.request(workload, episodes);
  const start = performance.now();
  let end = start;
  const { partial, official, run: facts } = await sandboxes.evaluate(request, { onProgress: () => (end = performance.now()) });
  const failed = Object.values(official.failures).reduce((sum, count) => sum + count, 0);
  if (partial || failed > 0) throw new Error(`the evaluation was ${partial ? 'partial' : `spoiled by ${failed} failed episodes`}`);
  const episodesPerSecond = (1000 * facts.outcomes) / (end - start);
  const length = official.meanLength ?? Number.NaN;
  return { episodesPerSecond, stepsPerSecond: episodesPerSecond * length, mean: official.mean, steps: facts.outcomes * length };
}

type Measured = ReadonlyMap<string, readonly number[]>;

/** Each of them once a round; the one that is first in one round is last in the next. */
async function inTurns(all: readonly Contestant[], { quick, say, measured }: BenchmarkContext, units: number): Promise<Measured> {
  const rates = new Map(all.map(({ name }) => [name, new Array<number>()]));
  for (const round of roundsOf(quick)) {
    const stepsPerSecond = await measured(roundName(units, round), async () => {
      const each: Record<string, number> = {};
      for (const { name, play } of round % 2 === 0 ? all : all.toReversed()) {
        say(name);
        each[name] = await play();
      }
      return each;
    });
    for (const [name, rate] of Object.entries(stepsPerSecond)) rates.get(name)?.push(rate);
  }
  return rates;
}

function ratios(rates: Measured, of: string, to: string): readonly number[] {
  const others = rates.get(to) ?? [];
  return (rates.get(of) ?? []).map((rate, round) => rate / (others[round] ?? Number.NaN));
}

function tableOf(units: number, rates: Measured, others: readonly (readonly Cell[])[]): Table {
  const rows = Array.from(rates, ([name, each]): Cell[] => {
    return [name, showSpread(spreadOf(each), 0), showSpread(spreadOf(ratios(rates, name, 'single')), 2)];
  });
  return { title: `CartPole, MLP ${units}–${units}`, columns: ['', 'steps a second', '× single'], rows: [...rows, ...others] };
}

function checksOf(units: number, rates: Measured): readonly Check[] {
  const check = (of: string, to: string, least: number): Check => {
    const ratio = spreadOf(ratios(rates, of, to));
    const target = `≥ ${least} × ${to}`;
    return { what: `CartPole, MLP ${units}–${units}: ${of}`, target, measured: showSpread(ratio, 2), met: ratio.median >= least };
  };
  return [
    check('lockstep', 'single', 1.3),
    check('lockstep', 'bare sync', 1),
    check('vector', 'bare vector', 0.9),
    check('vector', 'single', 8),
  ];
}
