import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { mazePolicy, mazeSuite } from './maze.ts';
import { Stage } from './stage.ts';

/** Of a suite that says nothing else. */
export const EPISODES = 6;

const lineSchema = z.object({
  outcome: z.object({ kind: z.string(), cause: z.string().optional(), return: z.number().optional(), detail: z.string().optional() }),
});
export type Outcome = z.infer<typeof lineSchema>['outcome'];

export interface Played {
  readonly summary: Summary;
  readonly outcomes: readonly Outcome[];
}

export type Way = 'together' | 'apart';

/** A Muster for each way of playing policies, and checkpoints that are written for a test. */
export class Fixture implements AsyncDisposable {
  readonly stage: Stage;
  readonly #musters: Readonly<Record<Way, Muster>>;
  #count = 0;

  private constructor(stage: Stage, musters: Readonly<Record<Way, Muster>>) {
    this.stage = stage;
    this.#musters = musters;
  }

  static async open(start: 'forked' | 'plain'): Promise<Fixture> {
    const stage = await Stage.open();
    const file = await stage.config();
    const open = async (policy: Way): Promise<Muster> => {
      const all = { 'pool.max': 1, 'templates.local.start': start, 'templates.local.policy': policy };
      const flags = Object.entries(all).map(([name, value]) => ({ name, path: name.split('.'), value }));
      return await Muster.open(loadConfig({ file, environment: { HOME: stage.directory }, flags }));
    };
    return new Fixture(stage, { together: await open('together'), apart: await open('apart') });
  }

  async play(way: Way, source: string, changes: object = {}): Promise<Played> {
    return this.evaluate(way, await mazeSuite(this.stage, EPISODES, changes), await this.policy(source));
  }

  policy(source: string): Promise<string> {
    return mazePolicy(this.stage, `checkpoint-${(this.#count += 1)}`, source);
  }

  async evaluate(way: Way, suite: object, checkpoint: string): Promise<Played> {
    const out = this.stage.path(`out-${(this.#count += 1)}`);
    const summary = await this.#musters[way].evaluate({ suite, checkpoint }, { out });
    const lines = (await readFile(path.join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
    return { summary, outcomes: lines.map((line) => lineSchema.parse(JSON.parse(line)).outcome) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const muster of Object.values(this.#musters)) await muster[Symbol.asyncDispose]();
    await this.stage[Symbol.asyncDispose]();
  }
}
