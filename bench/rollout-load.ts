import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/app/client/server-client.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark } from './benchmark.ts';
import { LatentModel } from './latent-model.ts';
import { OwnServer } from './own-server.ts';

const TURNS = 10;
/** What these cost more is what turns cost: the rest is the same for each trajectory. */
const MANY_TURNS = 30;
const GROUP_SIZE = 8;
const TASK = 'fix-bug-in-sort-function';
const LATENCY_MS = 50;
const nameOf = (turns: number): string => `groups of trajectories of ${turns} turns, to the acknowledgement of the last`;

interface Load {
  readonly trajectories: number;
  readonly turns: number;
  /** From the model's first request to its last answer. */
  readonly turnsPerSecond: number;
  /** Of Muster's own process, for all: with the starts of workspaces, grading, storing and handing over. Sandboxes are other processes. */
  readonly processorMs: number;
  readonly megabytes: number;
}

export const rolloutLoad: Benchmark = {
  name: 'rollout-load',
  summary: 'turns a second of many trajectories at a time against a model that answers after 50 ms, and what a turn costs Muster',
  measurements: () => [nameOf(TURNS), nameOf(MANY_TURNS)],
  async run({ quick, measured }) {
    const atATime = quick ? 16 : 200;
    const rounds = quick ? 1 : 4;
    const short = await measured(nameOf(TURNS), () => play(atATime, rounds, TURNS));
    const long = await measured(nameOf(MANY_TURNS), () => play(atATime, rounds, MANY_TURNS));
    const ideal = (1000 * atATime) / LATENCY_MS;
    const [share, cost] = [short.turnsPerSecond / ideal, short.processorMs / short.turns];
    const [ofShort, ofLong] = [short.processorMs / short.trajectories, long.processorMs / long.trajectories];
    const ofTurn = (ofLong - ofShort) / (MANY_TURNS - TURNS);
    return {
      tables: [
        {
          title: `${atATime} trajectories at a time, with exact tokens, graded and acknowledged`,
          columns: ['trajectories', 'turns', 'turns a second', 'of the ideal', "Muster's processor (ms a turn)", "Muster's memory (MB)"],
          rows: [short, long].map(({ trajectories, turns, turnsPerSecond, processorMs, megabytes }) => [
            trajectories,
            turns,
            turnsPerSecond.toFixed(0),
            `${((100 * turnsPerSecond) / ideal).toFixed(0)} %`,
            (processorMs / turns).toFixed(2),
            megabytes.toFixed(0),
          ]),
        },
        {
          title: "Muster's processor by part (ms)",
          columns: ['of each trajectory: workspace begun and ended, grading, storing, handing over', 'of each turn'],
          rows: [[(ofShort - TURNS * ofTurn).toFixed(1), ofTurn.toFixed(2)]],
        },
      ],
      checks: [
        { what: 'turns a second', target: '≥ 95 % of the ideal', measured: `${(100 * share).toFixed(0)} %`, met: share >= 0.95 },
        { what: "Muster's processor for a turn", target: '≤ 2 ms', measured: `${cost.toFixed(2)} ms`, met: cost <= 2 },
      ],
      notes: [
        `The ideal is a model's answer every ${LATENCY_MS} ms for each trajectory, with nothing between two answers, workspaces that are there at once and no grading. Model, Muster, trainer and sandboxes share the processors.`,
        'The processor time is that of the whole Muster: workspaces begun, actions, grading of each trajectory, storing and handing over, divided by the turns.',
        `By part: what a trajectory of ${MANY_TURNS} turns costs more than one of ${TURNS}, for each turn; the rest is the same for each trajectory.`,
      ],
    };
  },
};

async function play(atATime: number, rounds: number, turns: number): Promise<Load> {
  await using model = await LatentModel.start(turns, LATENCY_MS);
  await using place = await mkdtempDisposable(join(tmpdir(), 'muster-load-'));
  const agent = join(place.path, 'agent.json');
  await writeFile(agent, JSON.stringify({ agent: 'model', endpoint: 'latent', model: 'latent', tokenIds: 'vllm' }));
  const suite = {
    name: 'load',
    tasks: { from: join(PACKAGE_ROOT, 'examples/code'), only: [TASK] },
    stop: { rule: 'fixed', episodes: 2 },
  };
  const models = { endpoints: { latent: { url: model.url } }, concurrency: atATime };
  await using server = await OwnServer.start({ load: suite }, { models, pool: { max: atATime } });
  const client = connect(server.url);
  const before = server.cpuSeconds;
  const total = Math.ceil((atATime * rounds) / GROUP_SIZE);
  const terms = { groupSize: GROUP_SIZE, concurrency: atATime, batch: total, maxStaleness: 0, total, keepFiltered: true } as const;
  const stream = await client.startRollouts(agent, 'load', terms);
  let megabytes = 0;
  for await (const _ of client.rollouts.groups(stream.id)) megabytes = Math.max(megabytes, server.rssBytes / 2 ** 20);
  const seconds = (model.last - (model.first ?? 0)) / 1000;
  return {
    trajectories: total * GROUP_SIZE,
    turns: model.answered,
    turnsPerSecond: model.answered / seconds,
    processorMs: 1000 * (server.cpuSeconds - before),
    megabytes,
  };
}
