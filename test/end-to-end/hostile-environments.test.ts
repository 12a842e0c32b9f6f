import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { isFullForm, sampled } from '../support/full-form.ts';
import { ANYTHING, returnOf, Stage, type FaultSuite } from './stage.ts';

const EPISODES = 12;
const FAULTY = [2, 7];

const episodeSchema = z.object({
  index: z.int(),
  part: z.enum(['official', 'surplus']),
  outcome: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('completed'), return: z.number() }),
    z.object({ kind: z.literal('failed'), cause: z.string(), detail: z.string() }),
    z.object({ kind: z.literal('lost'), detail: z.string() }),
  ]),
  log: z.string().optional(),
});
type Episode = z.infer<typeof episodeSchema>;

/** Plays a suite whose episodes `FAULTY` go wrong; all others have to come out as if nothing had happened. */
async function play(stage: Stage, suite: FaultSuite, template: object = {}): Promise<{ summary: Summary; faulty: readonly Episode[] }> {
  const config = await stage.write('muster.json', { templates: { local: template } });
  const file = await stage.faultSuite({ episodes: FAULTY, ...suite });
  const out = stage.path('out');
  const result = await stage.call(['eval', file, '-c', ANYTHING, '-n', '2', '--json', '--out', out, '--config', config]);
  const summary = result.summary();
  expect({ code: result.exitCode, ended: summary.ended, episodes: summary.official.episodes }).toEqual({
    code: 0,
    ended: 'rule',
    episodes: EPISODES,
  });
  const lines = (await readFile(stage.path('out/episodes.ndjson'), 'utf8')).trimEnd().split('\n');
  const episodes = lines.map((line) => episodeSchema.parse(JSON.parse(line)));
  expect(episodes.map(({ index }) => index)).toEqual(Array.from({ length: EPISODES }, (_, index) => index));
  const isFaulty = ({ index }: Episode): boolean => FAULTY.includes(index);
  const others = episodes.filter((episode) => !isFaulty(episode));
  expect(others.map(({ outcome }) => outcome)).toEqual(
    others.map(({ index }) => expect.objectContaining({ kind: 'completed', return: returnOf(index) })),
  );
  return { summary, faulty: episodes.filter(isFaulty) };
}

/** Both of them failed so, the summary counts them, and the details say what happened. */
function failures(cause: string, detail: RegExp): object {
  const outcome = { kind: 'failed', cause, detail: expect.stringMatching(detail) };
  return { faulty: FAULTY.map((index) => ({ index, outcome })), summary: { official: { failures: { [cause]: FAULTY.length } } } };
}

describe('an environment that prints too much', () => {
  it('on the standard output: its episodes count, and keep the beginning and the end of its prints', async () => {
    await using stage = await Stage.open();
    const { summary, faulty } = await play(stage, { how: 'prints garbage' });
    expect(faulty.map(({ outcome }) => outcome)).toEqual(FAULTY.map((index) => expect.objectContaining({ return: returnOf(index) })));
    for (const { log = '' } of faulty) {
      expect(log).toMatch(/^the first words\n[^]*the last words\n$/);
      expect(log.length).toBeLessThan(16_384);
    }
    expect(summary.run.pool.died).toBe(0);
  });

  it.runIf(isFullForm)('on descriptor 1, past Python: its episodes count, and keep the end of its prints', async () => {
    await using stage = await Stage.open();
    const { summary, faulty } = await play(stage, { how: 'writes to descriptor 1' });
    expect(faulty.map(({ outcome }) => outcome)).toEqual(FAULTY.map((index) => expect.objectContaining({ return: returnOf(index) })));
    for (const { log = '' } of faulty) {
      expect(log).toContain('written to descriptor 1\n');
      expect(log.length).toBeLessThan(16_384);
    }
    expect(summary.run.pool.died).toBe(0);
  });

  it('on every descriptor that it can find: only its own episode is a protocol violation', async () => {
    await using stage = await Stage.open();
    expect(await play(stage, { how: 'writes to every descriptor' })).toMatchObject(failures('protocol-violation', /malformed frame/));
  });
});

describe('an environment that ends its process', () => {
  it.runIf(isFullForm)('with SystemExit: its episode has crashed, and the runner continues', async () => {
    await using stage = await Stage.open();
    const played = await play(stage, { how: 'exits' });
    expect(played).toMatchObject(failures('environment-crash', /^SystemExit: 3/));
    expect(played.summary.run.pool.died).toBe(0);
  });

  it('at once: its episode has crashed, and the sandbox is replaced', async () => {
    await using stage = await Stage.open();
    expect(await play(stage, { how: 'exits at once' })).toMatchObject(failures('environment-crash', /the runner ended with code 3/));
  });

  it('but not its child: its episode has crashed, and the child ends with the sandbox', async () => {
    await using stage = await Stage.open();
    expect(await play(stage, { how: 'forks and exits' })).toMatchObject(failures('environment-crash', /the runner ended with code 4/));
  });
});

describe('an environment that takes too much', () => {
  it('time: its episode is a timeout, and the sandbox is replaced', async () => {
    await using stage = await Stage.open();
    expect(await play(stage, { how: 'hangs', changes: { episode: { seconds: 2 } } })).toMatchObject(
      failures('timeout', /not finished within 2 s/),
    );
  });

  it('memory: its episode is out of memory, and the sandbox is replaced', async () => {
    await using stage = await Stage.open();
    expect(await play(stage, { how: 'allocates' }, { limits: { memoryBytes: '256MiB' } })).toMatchObject(
      failures('out-of-memory', /memory/i),
    );
  });

  it.each(sampled(['forked', 'plain'], (start) => start === 'forked'))(
    'far more memory than there can be, at once: %s names the place, and the sandbox goes on',
    async (start) => {
      await using stage = await Stage.open();
      const played = await play(stage, { how: 'asks for far too much' }, { start, limits: { memoryBytes: '256MiB' } });
      expect(played).toMatchObject(failures('out-of-memory', /^MemoryError[^]*in asks_for_far_too_much/));
      expect(played.summary.run.pool.died).toBe(0);
    },
  );
});

describe('a return', () => {
  // In the short form, failing-episodes.test.ts has an evaluation of them.
  it.runIf(isFullForm)('that is not a number fails its episode', async () => {
    await using stage = await Stage.open();
    expect(await play(stage, { how: 'is not a number' })).toMatchObject(failures('invalid-return', /NaN.*expected a finite number/));
  });

  it('outside of the declared bounds fails its episode, by the bounds’ name, and is not clipped', async () => {
    await using stage = await Stage.open();
    const played = await play(stage, { how: 'is out of bounds' });
    expect(played).toMatchObject(failures('out-of-bounds', /1\.5.*\[0, 1\]/));
    // Scored as the suite says, with the lower bound: 1, the nearest value within the bounds, is not among the returns.
    const returns = Array.from({ length: EPISODES }, (_, index) => (FAULTY.includes(index) ? 0 : returnOf(index)));
    expect(played.summary.official.mean).toBeCloseTo(returns.reduce((sum, value) => sum + value, 0) / EPISODES, 12);
  });
});
