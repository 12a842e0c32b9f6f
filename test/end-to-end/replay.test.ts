import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import { getMessage } from '../../src/kernel/errors.ts';
import { replaySchema } from '../../src/orchestrator/replay/replay-document.ts';
import { extent } from '../support/full-form.ts';
import { ANYTHING, REPOSITORY, Stage } from './stage.ts';

/** Of each example. */
const EPISODES = extent({ short: 3, full: 100 });
/** Each takes a workspace and grading sandboxes. */
const CODE_EPISODES = extent({ short: 2, full: 100 });
const PATIENCE_MS = extent({ short: 180_000, full: 3_600_000 });
const EXAMPLES = path.join(REPOSITORY, 'examples');
const FAILURE_SCORES = { timeout: 0, crash: 0 };

let stage: Stage;
let muster: Muster;
beforeAll(async () => {
  stage = await Stage.open();
  muster = await openMuster();
});
afterAll(async () => {
  await muster?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

function openMuster(): Promise<Muster> {
  const flags = [{ name: '--sandboxes', path: ['pool', 'max'], value: 2 }];
  return Muster.open(loadConfig({ environment: { HOME: stage.directory, MUSTER_STATE_DIR: stage.stateDir }, flags }));
}

/** A suite of suites/environments/drawn.py. */
function falling(name: string, kwargs: object = {}, changes: object = {}): Promise<string> {
  return stage.write(`${name}.json`, {
    name,
    files: path.join(import.meta.dirname, 'suites/environments'),
    environment: { entry: 'drawn:Falling', kwargs },
    failureScores: FAILURE_SCORES,
    stop: { rule: 'fixed', episodes: 8 },
    ...changes,
  });
}

describe('an episode of kept results', () => {
  const examples = [
    { suite: 'game/cartpole.yaml', checkpoint: 'game/checkpoints/middle.safetensors' },
    { suite: 'game/pendulum.yaml', checkpoint: 'game/pendulum-checkpoints/late.safetensors' },
    { suite: 'inventory/suite.yaml', checkpoint: 'inventory/checkpoints/late.safetensors' },
    { suite: 'recommendations/suite.yaml', checkpoint: 'recommendations/checkpoints/late.safetensors' },
    { suite: 'code/suite.yaml', checkpoint: 'oracle' },
  ];
  it.each(examples)('of $suite has the same return, length and metrics again', { timeout: PATIENCE_MS }, async ({ suite, checkpoint }) => {
    const out = stage.path(path.dirname(suite) + path.basename(suite));
    const episodes = suite.startsWith('code') ? CODE_EPISODES : EPISODES;
    const stop = { rule: 'fixed', episodes } as const;
    const file = path.join(EXAMPLES, suite);
    await muster.evaluate(
      { suite: file, stop, checkpoint: checkpoint === 'oracle' ? checkpoint : path.join(EXAMPLES, checkpoint) },
      { out },
    );
    for (let index = 0; index < episodes; index += 1) {
      const { recorded, replayed, isSame, rewards } = await muster.replay({ results: out, index });
      expect(replayed).toEqual(recorded);
      expect(isSame).toBe(true);
      expect(recorded.kind).toBe('completed');
      if (recorded.kind !== 'completed' || checkpoint === 'oracle') continue;
      expect(rewards).toHaveLength(recorded.length);
      expect(rewards.reduce<number>((sum, reward) => sum + (reward ?? 0), 0)).toBe(recorded.return);
    }
  });

  it('of a block is played with its block, and recorded alone', async () => {
    const out = stage.path('block');
    const suite = await falling('block', {}, { play: { mode: 'lockstep', width: 2, block: 4 } });
    await muster.evaluate({ suite, checkpoint: ANYTHING }, { out });
    const replay = await muster.replay({ results: out, index: 6 });
    expect(replay).toMatchObject({ index: 6, isSame: true, remarks: [] });
    expect(replay.rewards).toHaveLength(12);
    expect(replay.pictures.map(({ step }) => step)).toEqual(Array.from({ length: 13 }, (_, step) => step));
  });

  it('is found by its checkpoint in a comparison', async () => {
    const out = stage.path('compared');
    const suite = path.join(EXAMPLES, 'game/cartpole.yaml');
    const [early, late] = ['early', 'late'].map((name) => path.join(EXAMPLES, `game/checkpoints/${name}.safetensors`));
    await muster.compare({ suite, baseline: early ?? '', candidates: [late ?? ''] }, { out });
    const returns = await Promise.all(
      [0, 1].map(async (arm) => {
        const { isSame, recorded } = await muster.replay({ results: out, index: 0, arm });
        expect(isSame).toBe(true);
        return recorded.kind === 'completed' ? recorded.return : undefined;
      }),
    );
    expect(returns[0]).not.toBe(returns[1]);
  });

  it('of a comparison has the modules that its suite brought', async () => {
    const out = stage.path('compared-modules');
    const suite = await falling('compared-modules', {}, { reward: { bounds: [0, 100] }, budget: { episodes: 8 } });
    const other = stage.path('anything');
    await cp(ANYTHING, other, { recursive: true });
    await writeFile(path.join(other, 'note.txt'), 'for another digest');
    await muster.compare({ suite, baseline: ANYTHING, candidates: [other] }, { out });
    expect(await muster.replay({ results: out, index: 1, arm: 1 })).toMatchObject({ isSame: true });
  });
});

describe('muster replay', () => {
  it('says that an environment is not deterministic, with pictures on a page and exit code 7', async () => {
    const out = stage.path('careless');
    await muster.evaluate({ suite: await falling('careless', { careless: true }), checkpoint: ANYTHING }, { out });
    const page = stage.path('episode.html');
    const { stdout, exitCode } = await stage.call(['replay', out, '5', '--html', page]);
    expect(stdout).toMatch(/outcome differs: .*not deterministic/);
    expect(stdout).toMatch(/12 rewards and 13 pictures/);
    expect(exitCode).toBe(7);
    const html = await readFile(page, 'utf8');
    expect(html.match(/<img alt="after step \d+" src="data:image\/png;base64,iVBORw0KGg/g)).toHaveLength(13);
    expect(html).toContain('not deterministic');
  });

  it('prints what it recorded as JSON', async () => {
    const out = stage.path('reported');
    await muster.evaluate({ suite: await falling('reported'), checkpoint: ANYTHING }, { out });
    const { stdout, exitCode } = await stage.call(['replay', out, '5', '--json']);
    expect(exitCode).toBe(0);
    const { isSame, recorded, seconds } = replaySchema.parse(JSON.parse(stdout));
    expect(isSame).toBe(true);
    expect(recorded).toEqual((await linesOf(out))[5]?.outcome);
    expect(seconds).toBeGreaterThan(0);
  });

  it('refuses a missing episode, and names the existing ones', async () => {
    const results = stage.path('gone');
    await muster.evaluate({ suite: await falling('gone'), checkpoint: ANYTHING }, { out: results });
    const asked = async (input: object): Promise<string> =>
      muster.replay({ results, index: 0, ...input }).then(() => 'nothing', getMessage);
    expect(await asked({ results: stage.path('nowhere') })).toMatch(/nowhere does not exist; give such a directory, or the id/);
    expect(await asked({ results: stage.directory })).toMatch(/is no directory that "muster eval --out"/);
    await mkdir(stage.path('several/1-late'), { recursive: true });
    await copyFile(path.join(results, 'summary.json'), stage.path('several/1-late/summary.json'));
    expect(await asked({ results: stage.path('several') })).toMatch(/results of several checkpoints; name one of them: .*\/1-late$/);
    expect(await asked({ index: 8 })).toMatch(/episode 8: .* has episodes from 0 to 7/);
    expect(await asked({ arm: 1 })).toMatch(/--arm 1: .* 1 checkpoint/);
    const configuration = await readFile(path.join(results, 'config.json'), 'utf8');
    await writeFile(path.join(results, 'config.json'), configuration.replace('"seed": 0', '"seed": 1'));
    expect(await asked({})).toMatch(/config\.json: suite: has another content than its digest says/);
    await writeFile(path.join(results, 'config.json'), configuration);
    await rm(path.join(stage.stateDir, 'store'), { recursive: true });
    const { stderr, exitCode } = await stage.call(['replay', results, '0']);
    expect(stderr).toMatch(/anything\.py, muster\.json \(sha256:[0-9a-f]{64}\) is no longer in the store; evaluate the same content again/);
    expect(exitCode).toBe(2);
  });
});

const lineSchema = z.looseObject({ outcome: z.unknown() });

async function linesOf(out: string): Promise<readonly z.infer<typeof lineSchema>[]> {
  const text = await readFile(path.join(out, 'episodes.ndjson'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => lineSchema.parse(JSON.parse(line)));
}
