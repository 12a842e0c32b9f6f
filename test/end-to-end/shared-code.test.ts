import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import { sampled } from '../support/full-form.ts';
import { Stage } from './stage.ts';

const EPISODES = 6;

/** Its reward is in a file beside it, which it reads when it is made. It tells whether it was imported in the process that plays it. */
const MAZE = `
import os
from pathlib import Path

import gymnasium
import numpy as np

IMPORTED_BY = os.getpid(), os.readlink('/proc/self/ns/pid')


class Maze(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self):
        from maze_parts import name_of_reward
        self._reward = float((Path(__file__).parent / name_of_reward()).read_text())

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        own = (os.getpid(), os.readlink('/proc/self/ns/pid')) == IMPORTED_BY
        return np.zeros(1, np.float32), self._reward, True, False, {'imported_here': float(own), 'action': float(action[0])}
`;
const PARTS = `def name_of_reward():\n    return 'reward.txt'\n`;
/** Acts as a file of the checkpoint says. */
const GUIDE = `
import numpy as np


class Guide:
    def __init__(self, action):
        self._action = np.full(1, action, np.float32)

    def act(self, observation):
        return self._action


def make(*, checkpoint_dir, **_):
    return Guide(float((checkpoint_dir / 'action.txt').read_text()))
`;

const lineSchema = z.object({
  outcome: z.object({
    kind: z.literal('completed'),
    return: z.number(),
    metrics: z.object({ imported_here: z.number(), action: z.number() }),
  }),
});

interface Played {
  readonly digest: string;
  readonly outcomes: readonly z.infer<typeof lineSchema>['outcome'][];
}

async function writeAll(stage: Stage, directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(stage.path(directory), { recursive: true });
  for (const [file, text] of Object.entries(files)) await stage.write(`${directory}/${file}`, text);
}

/** Suites whose modules have the same names, and a checkpoint with code. */
class Fixture implements AsyncDisposable {
  readonly #stage: Stage;
  readonly #muster: Muster;
  readonly #checkpoint: string;
  #plays = 0;

  private constructor(stage: Stage, muster: Muster, checkpoint: string) {
    this.#stage = stage;
    this.#muster = muster;
    this.#checkpoint = checkpoint;
  }

  static async open(sharedCode: readonly string[], settings: Readonly<Record<string, number>> = {}): Promise<Fixture> {
    const stage = await Stage.open();
    const guide = { 'muster.json': JSON.stringify({ policy: { entry: 'guide:make' } }), 'guide.py': GUIDE, 'action.txt': '0.25' };
    await writeAll(stage, 'guide', guide);
    const all = { 'pool.max': 2, ...settings, 'templates.local.start': 'forked', 'templates.local.sharedCode': sharedCode };
    const flags = Object.entries(all).map(([name, value]) => ({ name, path: name.split('.'), value }));
    const muster = await Muster.open(loadConfig({ file: await stage.config(), environment: { HOME: stage.directory }, flags }));
    return new Fixture(stage, muster, stage.path('guide'));
  }

  async play(name: string, reward: number): Promise<Played> {
    await this.write(name, reward);
    return await this.playWritten(name);
  }

  async write(name: string, reward: number): Promise<void> {
    await writeAll(this.#stage, name, { 'maze.py': MAZE, 'maze_parts.py': PARTS, 'reward.txt': `${reward}` });
  }

  /** @returns the checkpoint's digest, and the report of each episode. */
  async playWritten(name: string): Promise<Played> {
    const suite = {
      name,
      files: this.#stage.path(name),
      environment: { entry: 'maze:Maze', kwargs: {} },
      reward: { bounds: [0, 1] },
      metrics: ['imported_here', 'action'],
      stop: { rule: 'fixed', episodes: EPISODES },
    };
    const out = this.#stage.path(`out-${(this.#plays += 1)}`);
    const { official } = await this.#muster.evaluate({ suite, checkpoint: this.#checkpoint }, { out });
    const lines = (await readFile(path.join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
    return { digest: official.checkpoint.digest, outcomes: lines.map((line) => lineSchema.parse(JSON.parse(line)).outcome) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#muster[Symbol.asyncDispose]();
    await this.#stage[Symbol.asyncDispose]();
  }
}

/** The reports of its episodes. @param imported whether each process that played had imported the suite itself; unknown when left out. */
const expectReports = (reward: number, imported?: boolean): unknown =>
  Array.from({ length: EPISODES }, () => ({
    kind: 'completed',
    return: reward,
    metrics: { imported_here: imported === undefined ? expect.any(Number) : Number(imported), action: 0.25 },
  }));

async function playedUnshared(): Promise<Played> {
  await using fixture = await Fixture.open([]);
  return await fixture.play('named', 0.5);
}

describe('code that the template names', () => {
  it.each(sampled([1, 200], (count) => count === 200))(
    'is imported before the fork, and finds its files where it was imported from (%i episodes a sandbox)',
    async (episodes) => {
      await using fixture = await Fixture.open(['named'], { 'pool.episodesPerSandbox': episodes });
      expect((await fixture.play('named', 0.5)).outcomes).toEqual(expectReports(0.5, false));
    },
  );

  it('is imported again once it has changed', async () => {
    await using fixture = await Fixture.open(['named']);
    expect((await fixture.play('named', 0.5)).outcomes).toEqual(expectReports(0.5, false));
    expect((await fixture.play('named', 0.75)).outcomes).toEqual(expectReports(0.75));
  });

  it('gets in the way of no other suite that has modules of the same name', async () => {
    await using fixture = await Fixture.open(['named']);
    expect((await fixture.play('other', 0.25)).outcomes).toEqual(expectReports(0.25, true));
    expect((await fixture.play('named', 0.5)).outcomes).toEqual(expectReports(0.5));
    expect((await fixture.play('another', 0.75)).outcomes).toEqual(expectReports(0.75, true));
    expect((await fixture.play('named', 0.5)).outcomes).toEqual(expectReports(0.5));
  });

  it('is played by several evaluations at a time, as long as the last of them', async () => {
    await using fixture = await Fixture.open(['named'], { 'pool.episodesPerSandbox': 1 });
    await fixture.write('named', 0.5);
    const all = await Promise.all([1, 2, 3].map(async () => fixture.playWritten('named')));
    // A sandbox in which one evaluation has loaded it loads it again for another one, and imports it anew.
    expect(all.map(({ outcomes }) => outcomes)).toEqual(all.map(() => expectReports(0.5)));
  });

  it('of a checkpoint finds the files that came with it', async () => {
    const { digest, outcomes } = await playedUnshared();
    await using fixture = await Fixture.open([digest]);
    expect(await fixture.play('named', 0.5)).toEqual({ digest, outcomes });
  });
});
