import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { tuningSchema } from '../../src/orchestrator/tuning/tuning.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { ANYTHING, LATE, REPOSITORY, Stage, type FaultSuite } from './stage.ts';

const LOCKSTEP = { mode: 'lockstep', width: 8, block: 16 };
/** Ends in the middle of a block. */
const EPISODES = 72;

/** CartPole, cut off early so that a test is soon over. */
const cartpole = (changes: object): object => ({
  name: 'cartpole',
  environment: {
    entry: 'gymnasium:CartPole-v1',
    wrappers: [{ entry: 'gymnasium.wrappers:TimeLimit', kwargs: { max_episode_steps: 60 } }],
  },
  reward: { bounds: [0, 500] },
  stop: { rule: 'fixed', episodes: EPISODES },
  ...changes,
});

async function evaluate(stage: Stage, changes: object, sandboxes: number, checkpoint = LATE): Promise<Summary> {
  const suite = await stage.write('suite.json', cartpole(changes));
  const result = await stage.call(['eval', suite, '-c', checkpoint, '-n', String(sandboxes), '--json']);
  return result.summary();
}

describe('CartPole', () => {
  it('played in lockstep returns what it returns one episode after the other, to the last bit and on 1 sandbox as on 8', async () => {
    await using stage = await Stage.open();
    const checkpoint = path.join(REPOSITORY, 'examples/game/checkpoints/early.safetensors');
    const single = await evaluate(stage, { actions: 'stochastic' }, 4, checkpoint);
    const one = await evaluate(stage, { actions: 'stochastic', play: LOCKSTEP }, 1, checkpoint);
    const eight = await evaluate(stage, { actions: 'stochastic', play: LOCKSTEP }, 8, checkpoint);
    expect(JSON.stringify(eight.official)).toBe(JSON.stringify(one.official));
    const { suite: _, play, ...figures } = one.official;
    const { suite: __, play: ___, ...plain } = single.official;
    expect(play).toEqual(LOCKSTEP);
    expect(figures).toEqual(plain);
    expect(plain.variance).toBeGreaterThan(0);
    expect(one.run).toMatchObject({ surplus: 8, outcomes: 80 });
  });

  it('in its vector form returns the same on 1 sandbox as on 8', async () => {
    await using stage = await Stage.open();
    const changes = { environment: 'gymnasium:CartPole-v1', play: { mode: 'vector', width: 16 } };
    const checkpoint = path.join(REPOSITORY, 'examples/game/checkpoints/early.safetensors');
    const one = await evaluate(stage, changes, 1, checkpoint);
    const eight = await evaluate(stage, changes, 8, checkpoint);
    expect(JSON.stringify(eight.official)).toBe(JSON.stringify(one.official));
    expect(one.official.episodes).toBe(EPISODES);
    expect(one.official.variance).toBeGreaterThan(0);
  });
});

describe('in a block of episodes in lockstep', () => {
  /** Of 12 episodes in blocks of six, the third goes wrong. @returns what each came to. */
  async function outcomes(stage: Stage, suite: FaultSuite): Promise<readonly string[]> {
    const changes = { play: { mode: 'lockstep', width: 3, block: 6 }, ...suite.changes };
    const file = await stage.faultSuite({ episodes: [2], ...suite, changes });
    const out = stage.path('out');
    const result = await stage.call(['eval', file, '-c', ANYTHING, '-n', '2', '--json', '--out', out]);
    expect(result.summary().official.episodes).toBe(12);
    const lines = (await readFile(path.join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line).outcome).map(({ kind, cause }) => cause ?? kind);
  }

  const allBut = (faulty: readonly number[], cause: string): readonly string[] =>
    Array.from({ length: 12 }, (_, index) => (faulty.includes(index) ? cause : 'completed'));

  it('an environment that raises fails its own episode, and the others continue', async () => {
    await using stage = await Stage.open();
    expect(await outcomes(stage, { how: 'exits' })).toEqual(allBut([2], 'environment-crash'));
  });

  it('an environment that ends the process fails those that had no outcome', async () => {
    await using stage = await Stage.open();
    expect(await outcomes(stage, { how: 'exits at once' })).toEqual(allBut([0, 1, 2, 3, 4, 5], 'environment-crash'));
  });

  it('an environment that hangs fails its own episode, and the others continue', async () => {
    await using stage = await Stage.open();
    const changes = { episode: { seconds: 2 } };
    expect(await outcomes(stage, { how: 'hangs', changes })).toEqual(allBut([2], 'timeout'));
  });
});

describe('muster tune', () => {
  it('names a fastest way', async () => {
    await using stage = await Stage.open();
    const result = await stage.call(['tune', await stage.faultSuite(), '-c', ANYTHING, '-n', '2', '--seconds', '2', '--json']);
    expect(result.exitCode).toBe(0);
    const { trials, fastest } = tuningSchema.parse(JSON.parse(result.stdout));
    expect(trials[0]).toMatchObject({ play: { mode: 'single' }, refusal: null });
    expect(fastest?.episodesPerSecond).toBeGreaterThan(0);
  });

  it('says why an environment has no vector form, and what to do instead', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { play: { mode: 'vector', width: 4 } } });
    const { exitCode, stderr } = await stage.call(['eval', suite, '-c', ANYTHING]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(/faults.*lockstep/s) });
  });
});
