import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { REPOSITORY } from '../stage.ts';
import type { Patience } from './patience.ts';

const TASK = 'fix-bug-in-sort-function';
export const TASKS = join(REPOSITORY, 'examples/code');

/** The actions of one episode, by its index alone: files written, changed and removed by actions and commands, solved or not. */
export async function scriptOf(index: number): Promise<readonly object[]> {
  const solution = await readFile(join(TASKS, TASK, 'solution/sorting.py'), 'utf8');
  return [
    { action: 'run', command: `mkdir -p made/deep && seq ${index} ${index + 9} >made/deep/numbers && ln -sf deep/numbers made/link` },
    { action: 'write_file', file: 'made/notes.txt', content: `notes of ${index}\n`.repeat(1 + (index % 3) * 2000) },
    { action: 'edit_file', file: 'made/deep/numbers', old: `${index + 9}\n`, new: 'last\n' },
    { action: 'run', command: 'cat made/link; wc -c <made/notes.txt; rm -r made/deep; ls made' },
    ...(index % 2 === 0 ? [{ action: 'write_file', file: 'sorting.py', content: solution }] : []),
    { action: 'submit' },
  ];
}

const startedSchema = z.looseObject({ episode: z.string() });
const answerSchema = z.looseObject({ observation: z.unknown(), done: z.boolean(), truncated: z.boolean() });
const stepsSchema = z.looseObject({ items: z.array(z.looseObject({ action: z.unknown(), answer: answerSchema })) });
/** Without an outcome while it is graded. */
const rewardSchema = z.looseObject({
  outcome: z.string().optional(),
  reward: z.number().nullable().optional(),
  components: z.unknown().optional(),
});
const filesSchema = z.looseObject({ items: z.array(z.unknown()) });

/** The part of an episode that kills do not change by a byte. Not in it: the time that steps took, and whether a workspace was made again. */
export interface Trajectory {
  readonly steps: readonly string[];
  readonly reward: string;
  readonly files: readonly string[];
}

export interface ScriptPlace {
  /** Of the server that runs by now. */
  readonly url: () => string;
  readonly patience: Patience;
}

/** Plays a script. A request without an answer is sent again, to the server that runs by then. */
export async function playScript(index: number, place: ScriptPlace, afterStep: () => Promise<void>): Promise<Trajectory> {
  const actions = await scriptOf(index);
  const { episode } = startedSchema.parse(await ask(place, 'POST', '/v1/episodes', { task: TASK, agent: `script ${index}` }));
  for (const [i, action] of actions.entries()) {
    await ask(place, 'POST', `/v1/episodes/${episode}/steps`, { step: i + 1, ...action });
    if (i < actions.length - 1) await afterStep();
  }
  const reward = await rewardOf(place, episode);
  const { items } = stepsSchema.parse(await ask(place, 'GET', `/v1/episodes/${episode}/steps`));
  const { items: files } = filesSchema.parse(await ask(place, 'GET', `/v1/episodes/${episode}/files`));
  const steps = items.map(({ action, answer: { observation, done, truncated } }) =>
    JSON.stringify({ action, observation, done, truncated }),
  );
  return { steps, reward, files: files.map((each) => JSON.stringify(each)) };
}

async function rewardOf({ url, patience }: ScriptPlace, episode: string): Promise<string> {
  let found = '';
  await patience.until(`episode ${episode} is graded`, async () => {
    const answer = await answerOf(url, 'GET', `/v1/episodes/${episode}/reward?wait=10`);
    const { outcome, reward, components } = rewardSchema.parse(answer ?? {});
    found = JSON.stringify({ outcome, reward, components });
    return outcome !== undefined;
  });
  return found;
}

async function ask({ url, patience }: ScriptPlace, method: string, path: string, body?: object): Promise<unknown> {
  let json: unknown;
  await patience.until(`${method} ${path} is answered`, async () => {
    json = await answerOf(url, method, path, body);
    return json !== undefined;
  });
  return json;
}

/** Undefined when there is none, or the server could not give one. */
async function answerOf(url: () => string, method: string, path: string, body?: object): Promise<unknown> {
  const headers = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`${url()}${path}`, { method, ...headers }).catch(() => undefined);
  const text = await answer?.text().catch(() => undefined);
  if (answer === undefined || text === undefined || answer.status >= 500) return undefined;
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}
