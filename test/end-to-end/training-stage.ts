import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { dependent } from '../../scripts/dependent-process.ts';
import { deliveredGroupSchema, type DeliveredGroup } from '../../src/agents/rollouts/streams/delivered-group.ts';
import type { MusterClient } from '../../src/faces/client/muster-client.ts';
import { ANSWER_TASK, HALF_TASK } from '../support/agent-suite-fixture.ts';
import { freePort } from '../support/free-port.ts';
import { writeFiles } from '../support/grading-fixture.ts';
import { ScriptedModelServer, type ModelScript } from '../support/model-server.ts';
import type { MusterCommandOptions } from './muster-command.ts';
import { MusterServer } from './muster-server.ts';
import { Stage } from './stage.ts';

const MODEL = { agent: 'model' };

/** A server for a training, its tasks and its model. */
export interface Training extends AsyncDisposable {
  readonly stage: Stage;
  readonly model: ScriptedModelServer;
  readonly agent: string;
  readonly serve: (options?: MusterCommandOptions) => Promise<MusterServer>;
}

export async function prepareTraining(script: ModelScript, access: 'off' | 'tokens' = 'off', agent: object = MODEL): Promise<Training> {
  await using opening = new AsyncDisposableStack();
  const stage = opening.use(await Stage.open());
  const model = opening.use(await ScriptedModelServer.start(script));
  await writeFiles(stage.path('tasks/answer'), ANSWER_TASK);
  await writeFiles(stage.path('tasks/half'), HALF_TASK);
  const suite = await stage.write(
    'suite.yaml',
    stringify({ name: 'code', tasks: { from: 'tasks' }, stop: { rule: 'fixed', episodes: 2 } }),
  );
  const file = stage.path('agent.yaml');
  await writeFile(file, stringify({ ...agent, endpoint: 'trainer', model: 'org/policy', tokenIds: 'vllm' }));
  const server = { port: await freePort(), access, suites: { code: suite }, drainSeconds: 0 };
  const models = { endpoints: { trainer: { url: model.url } } };
  const config = await stage.write('muster.json', { server, models, pool: { max: 8 } });
  const held = opening.move();
  const serve: Training['serve'] = (options) => MusterServer.start(stage, config, options);
  return { stage, model, agent: file, serve, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** What a group teaches, whatever came between. */
export function lesson({ task, taskSeed, mean, advantages, trajectories }: DeliveredGroup): unknown {
  const members = trajectories.map(({ rep, seed, reward, segments }) => ({ rep, seed, reward, segments: segments.map(({ ids }) => ids) }));
  return { task, taskSeed, mean, advantages, members };
}

export async function takeOne(client: MusterClient, stream: string, leaseSeconds: number): Promise<DeliveredGroup> {
  for await (const group of client.rollouts.groups(stream, leaseSeconds)) return group;
  throw new Error(`stream ${stream} ended`);
}

/** Leases the first group that is there, and never acknowledges it. */
const TRAINER = `
import sys, time, urllib.request
answer = ""
while '"group":' not in answer:
    answer = urllib.request.urlopen(sys.argv[1]).read().decode()
print(answer, flush=True)
time.sleep(600)
`;

/** What a trainer had that was killed between lease and acknowledgement. */
export async function killedTrainer(url: string, stream: string): Promise<DeliveredGroup> {
  const asked = `${url}/v1/rollouts/${stream}/groups?lease=1&wait=10`;
  const trainer = spawn(...dependent('/usr/bin/python3', ['-c', TRAINER, asked]), { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(trainer.stdout), 'line');
  trainer.kill('SIGKILL');
  expect(await once(trainer, 'exit')).toEqual([null, 'SIGKILL']);
  const [group] = z.object({ items: z.array(deliveredGroupSchema).length(1) }).parse(JSON.parse(String(line))).items;
  if (group === undefined) throw new Error('the trainer had no group');
  return group;
}
