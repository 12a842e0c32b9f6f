import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/app/client/server-client.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark } from './benchmark.ts';
import { LatentModel } from './latent-model.ts';
import { OwnServer } from './own-server.ts';

const TURNS = 10;
const GROUP_SIZE = 8;
const TASK = 'fix-bug-in-sort-function';
const LATENCY_MS = 50;
const MEASURED = 'groups of trajectories, to the acknowledgement of the last';

interface Load {
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
  measurements: () => [MEASURED],
  async run({ quick, measured }) {
    const atATime = quick ? 16 : 200;
    const { turns, turnsPerSecond, processorMs, megabytes } = await measured(MEASURED, () => play(atATime, quick ? 1 : 4));
    const ideal = (1000 * atATime) / LATENCY_MS;
    const [share, cost] = [turnsPerSecond / ideal, processorMs / turns];
    return {
      tables: [
        {
          title: `${atATime} trajectories of ${TURNS} turns at a time, with exact tokens, graded and acknowledged`,
          columns: ['turns', 'turns a second', 'of the ideal', "Muster's processor (ms a turn)", "Muster's memory (MB)"],
          rows: [[turns, turnsPerSecond.toFixed(0), `${(100 * share).toFixed(0)} %`, cost.toFixed(2), megabytes.toFixed(0)]],
        },
      ],
      checks: [
        { what: 'turns a second', target: '≥ 95 % of the ideal', measured: `${(100 * share).toFixed(0)} %`, met: share >= 0.95 },
        { what: "Muster's processor for a turn", target: '≤ 2 ms', measured: `${cost.toFixed(2)} ms`, met: cost <= 2 },
      ],
      notes: [
        `The ideal is a model's answer every ${LATENCY_MS} ms for each trajectory, with nothing between two answers, workspaces that are there at once and no grading. Model, Muster, trainer and sandboxes share the processors.`,
        'The processor time is that of the whole Muster: workspaces begun, actions, grading of each trajectory, storing and handing over, divided by the turns.',
      ],
    };
  },
};

async function play(atATime: number, rounds: number): Promise<Load> {
  await using model = await LatentModel.start(TURNS, LATENCY_MS);
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
    turns: model.answered,
    turnsPerSecond: model.answered / seconds,
    processorMs: 1000 * (server.cpuSeconds - before),
    megabytes,
  };
}
