import { expect } from 'vitest';
import { ANYTHING, type Stage } from './stage.ts';

/** A service elsewhere that hundreds of sandboxes are made at. */
export interface CrowdPlace {
  /** What the configuration's template says of it. */
  readonly template: object;
  readonly environment?: Readonly<Record<string, string>>;
  /** How many run their program. */
  readonly ready: () => number;
  /** What there is of sandboxes. */
  readonly names: () => readonly string[];
  /** When each so far was created, in milliseconds of this machine. */
  readonly creations: readonly number[];
  /** How many there have been at a time. */
  readonly mostAtOnce: () => number;
}

export interface CrowdSize {
  readonly sandboxes: number;
  readonly creationsPerSecond: number;
}

const SUITE = { name: 'crowd', environment: 'module:factory', reward: { bounds: [0, 1] } };
const RUNNER = {
  // It needs no packages, and plays tens of thousands of episodes a second.
  command: ['perl', '/opt/runners/tiny-runner.pl'],
  limits: { memoryBytes: '64MiB', diskBytes: '1MiB' },
};

/**
 * A Muster with so many sandboxes is killed. None is left once the next one has started, whose evaluation finishes; neither makes more than
 * it may, or faster.
 */
export async function killedCrowd(stage: Stage, place: CrowdPlace, { sandboxes, creationsPerSecond }: CrowdSize): Promise<void> {
  const { environment = {}, ready, names, creations, mostAtOnce } = place;
  const pool = { max: sandboxes, min: sandboxes, creationsPerSecond, episodesPerSandbox: 1_000_000_000 };
  // One episode at a time: the crowd is there, and the processors are free to make it.
  const evaluation = { window: 1 };
  const templates = { local: { ...RUNNER, ...place.template } };
  const config = await stage.write('muster.json', { stateDir: stage.stateDir, pool, evaluation, templates });
  const [long, short] = await Promise.all([
    stage.write('long.json', { ...SUITE, stop: { rule: 'fixed', episodes: 10_000_000 } }),
    stage.write('short.json', { ...SUITE, stop: { rule: 'fixed', episodes: 1000 } }),
  ]);
  const deadlineMs = 60_000 + sandboxes * 1000;

  const start = performance.now();
  const killed = stage.start(['eval', long, '--checkpoint', ANYTHING, '--config', config], { environment, deadlineMs });
  await oneByOne(sandboxes, (count) => killed.until(`${count} sandboxes have runners`, () => ready() >= count));
  killed.signal('SIGKILL');
  await killed.ended;
  const orphans = names();
  expect(orphans).toHaveLength(sandboxes);
  expect(creations).toHaveLength(sandboxes);
  expectPaced(creations, start, creationsPerSecond);

  const again = performance.now();
  const next = await stage.run(['eval', short, '--checkpoint', ANYTHING, '--config', config, '--json'], { environment, deadlineMs });
  expect(next.summary()).toMatchObject({ official: { episodes: 1000 }, run: { pool: { swept: sandboxes } } });
  expect(names()).toEqual([]);
  // More than there may be at a time: those that end in the midst of an episode are replaced.
  expectPaced(creations.slice(sandboxes), again, creationsPerSecond);
  expect(mostAtOnce()).toBeLessThanOrEqual(sandboxes);
}

/** What is waited for at a time is bounded, and hundreds take longer than that. */
export async function oneByOne(most: number, until: (count: number) => Promise<void>): Promise<void> {
  for (let count = 1; count <= most; count += 1) await until(count);
}

/** However busy this machine is, none is made before its time: a second's worth at once, then at the configured rate. */
export function expectPaced(creations: readonly number[], start: number, perSecond: number): void {
  const early = creations.filter((at, i) => at - start < ((i + 1 - perSecond) / perSecond) * 1000);
  expect(early, 'made before their time').toEqual([]);
}
