import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dependentFork } from '../scripts/dependent-process.ts';
import { connect } from '../src/app/client/server-client.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { LatentModel } from './latent-model.ts';
import { readMachineMs } from './machine.ts';
import { OwnServer } from './own-server.ts';
import { type ProcessorParts, readProcessorParts } from './processor-parts.ts';

const TASK = 'fix-bug-in-sort-function';
export const LATENCY_MS = 50;

/** Trajectories in all and at a time, and the turns of each. */
export interface Size {
  /** Played before those that are measured. A server compiles what it runs while it plays its first ones. */
  readonly before: number;
  readonly trajectories: number;
  readonly atATime: number;
  readonly turns: number;
}

export interface Acted extends Size {
  /** For all trajectories. Muster's includes their grading, because chance decides how many are graded when the model gives its last answer. */
  readonly seconds: number;
  /** From one request of a trajectory to its next. */
  readonly secondsOfTurn: number;
  /** Of these, what the model takes. */
  readonly secondsOfAnswer: number;
  /** Of the whole machine. */
  readonly machineMs: number;
}

export interface Load extends Acted {
  /** For all: with the starts of workspaces, grading, storing and handing over. */
  readonly parts: ProcessorParts;
  /** Of Muster's process, for the trajectories before. */
  readonly beforeMs: number;
  readonly megabytes: number;
}

export function countTurns({ trajectories, turns }: Size): number {
  return trajectories * turns;
}

export interface BareLoad extends Acted {
  readonly sandboxMs: number;
}

/** By Muster: to the acknowledgement of the last group. */
export async function play(size: Size): Promise<Load> {
  const { before, trajectories, atATime, turns } = size;
  await using model = await LatentModel.start(turns, LATENCY_MS);
  await using place = await mkdtempDisposable(join(tmpdir(), 'muster-load-'));
  const agent = join(place.path, 'agent.json');
  await writeFile(agent, JSON.stringify({ agent: 'model', endpoint: 'latent', model: 'latent', tokenIds: 'vllm' }));
  const tasks = { from: join(PACKAGE_ROOT, 'examples/code'), only: [TASK] };
  const suite = { name: 'load', tasks, stop: { rule: 'fixed', episodes: 2 } };
  const models = { endpoints: { latent: { url: model.url } }, concurrency: atATime };
  await using server = await OwnServer.start({ load: suite }, { models, pool: { max: atATime } });
  const client = connect(server.url);
  const groupSize = Math.min(8, atATime);
  const playAll = async (count: number): Promise<number> => {
    const total = Math.ceil(count / groupSize);
    const terms = { groupSize, concurrency: atATime, batch: total, maxStaleness: 0, total, keepFiltered: true } as const;
    const stream = await client.startRollouts(agent, 'load', terms);
    let megabytes = 0;
    for await (const _ of client.rollouts.groups(stream.id)) megabytes = Math.max(megabytes, server.rssBytes / 2 ** 20);
    return megabytes;
  };
  const started = 1000 * server.cpuSeconds;
  await playAll(before);
  model.reset();
  const [first, machineBefore] = [readProcessorParts(server.pid), readMachineMs()];
  const began = performance.now();
  const megabytes = await playAll(trajectories);
  const seconds = (performance.now() - began) / 1000;
  const last = readProcessorParts(server.pid);
  const parts = {
    server: last.server - first.server,
    wardens: last.wardens - first.wardens,
    sandboxes: last.sandboxes - first.sandboxes,
  };
  return { ...acted(model, size, machineBefore), seconds, parts, beforeMs: first.server - started, megabytes };
}

/** By a client that only acts. */
export async function playBare(size: Size): Promise<BareLoad> {
  const { trajectories, atATime, turns } = size;
  await using model = await LatentModel.start(turns, LATENCY_MS);
  await using place = await mkdtempDisposable(join(tmpdir(), 'muster-bare-'));
  const machineBefore = readMachineMs();
  const child = fork(join(PACKAGE_ROOT, 'bench/bare-turns.ts'), [model.url, place.path, TASK, `${trajectories}`, `${atATime}`], {
    ...dependentFork(['--max-semi-space-size=16']),
  });
  let sandboxMs = 0;
  child.once('message', (told) => (sandboxMs = Number(told)));
  const [[code]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  if (code !== 0) throw new Error(`bench/bare-turns.ts ended with code ${code}`);
  return { ...acted(model, size, machineBefore), sandboxMs };
}

/** @throws Error when the model was not asked for every turn. */
function acted(model: LatentModel, size: Size, machineBefore: number): Acted {
  if (model.answered !== countTurns(size)) throw new Error(`expected ${countTurns(size)} turns, got ${model.answered}`);
  return {
    ...size,
    seconds: model.seconds,
    secondsOfTurn: model.secondsOfTurn,
    secondsOfAnswer: model.secondsOfAnswer,
    machineMs: readMachineMs() - machineBefore,
  };
}
