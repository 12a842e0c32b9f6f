import path from 'node:path';
import * as fc from 'fast-check';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { ANYTHING, CARTPOLE, LATE, REPOSITORY } from '../end-to-end/stage.ts';
import { SharedServer } from '../end-to-end/shared-server.ts';
import { extent, sampled } from '../support/full-form.ts';
import { WAYS } from './attack-fixture.ts';
import { CHANGES, EARLY, OPEN_DOOR, running, sent, type Environment } from './callers-suites.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const RUNS = extent({ short: 2, full: 50, variable: 'MUSTER_SIEGE_RUNS' });
const LONGEST_MS = 180_000 + 60_000 * RUNS;
const STOP = { rule: 'fixed', episodes: 4 } as const;
const TRAP = path.join(REPOSITORY, 'test/end-to-end/suites/trap.yaml');

/** Data on data, and a policy in Python, which is played apart. */
const HONEST = { late: LATE, early: EARLY, anything: ANYTHING } as const;
const HOSTILE: Readonly<Record<string, Environment>> = {
  ...CHANGES,
  'ends the process that loads it': running('import os, signal; os.kill(os.getpid(), signal.SIGKILL)'),
  'leaves a process behind': running('import os, time\nif os.fork() == 0: time.sleep(60)'),
};

/** One evaluation. The next begins at once, or when this one is over. */
type Move = { readonly waits: boolean } & (
  | { readonly who: 'owner'; readonly checkpoint: keyof typeof HONEST; readonly cache: boolean }
  | { readonly who: 'intruder'; readonly attack: string; readonly cancels: boolean }
);

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    fc.record({
      who: fc.constant('owner'),
      checkpoint: fc.constantFrom('late', 'early', 'anything'),
      cache: fc.boolean(),
      waits: fc.boolean(),
    }),
    fc.record({
      who: fc.constant('intruder'),
      attack: fc.constantFrom('trap', ...Object.keys(HOSTILE)),
      cancels: fc.boolean(),
      waits: fc.boolean(),
    }),
  ),
  { minLength: 4, maxLength: 9 },
);

/** All that the owner learns of an evaluation, except the time that it took. */
async function readReports(shared: SharedServer, id: string): Promise<string> {
  const { official } = await shared.client('owner').wait(id);
  const lines = await Array.fromAsync(shared.client('owner').episodes(id));
  const episodes = lines.map(({ index, outcome }) => ({ index, outcome }));
  return JSON.stringify({ official, episodes });
}

async function ask(shared: SharedServer, checkpoint: keyof typeof HONEST, cache: boolean): Promise<string> {
  return (await shared.client('owner').submit(HONEST[checkpoint], 'cartpole', { stop: STOP, cache })).id;
}

async function attack(shared: SharedServer, { attack: which, cancels }: Extract<Move, { readonly who: 'intruder' }>): Promise<string> {
  const client = shared.client('intruder');
  const { id } = await client.submit(EARLY, which === 'trap' ? 'trap' : sent(HOSTILE[which] ?? running('raise KeyError')), {
    cache: false,
  });
  if (cancels) await client.cancel(id);
  return id;
}

/** @returns for each evaluation of the owner which it was, and what the owner learned of it. */
async function played(shared: SharedServer, plan: readonly Move[]): Promise<readonly (readonly [keyof typeof HONEST, string])[]> {
  const begun: { readonly move: Move; readonly id: string }[] = [];
  for (const move of plan) {
    const id = move.who === 'owner' ? await ask(shared, move.checkpoint, move.cache) : await attack(shared, move);
    begun.push({ move, id });
    if (move.waits) await shared.ended(move.who, id);
  }
  const answers: (readonly [keyof typeof HONEST, string])[] = [];
  for (const { move, id } of begun) {
    if (move.who === 'owner') answers.push([move.checkpoint, await readReports(shared, id)]);
    else await shared.ended('intruder', id);
  }
  return answers;
}

/** The short form besieges forked sandboxes, and callers.test.ts attacks them one by one. */
describe.each(sampled(WAYS, (way) => way === 'forked'))('on one server with %s sandboxes', (start) => {
  it(
    'whatever an intruder does before, beside and after them, evaluations give the bytes that they give alone',
    async () => {
      const server = { ...OPEN_DOOR, suites: { cartpole: CARTPOLE, trap: TRAP } };
      await using shared = await SharedServer.open({ server, pool: { max: 2, warm: 1 }, templates: { local: { start } } }, LONGEST_MS);
      const alone: Record<string, string> = {};
      for (const checkpoint of ['late', 'early', 'anything'] as const)
        alone[checkpoint] = await readReports(shared, await ask(shared, checkpoint, false));
      // Sandboxes go on from one run to the next, as they do on a server.
      await fc.assert(
        fc.asyncProperty(moves, async (plan) => {
          const answers = await played(shared, plan);
          expect(answers).toEqual(answers.map(([checkpoint]) => [checkpoint, alone[checkpoint]]));
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    LONGEST_MS,
  );
});
