import { beforeAll, describe, expect, it } from 'vitest';
import { readStartTime } from '../../src/adapters/sandbox/local/host/process-table.ts';
import { loadConfig } from '../../src/app/configuration.ts';
import type { Progress } from '../../src/orchestrator/facts/progress.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { Muster } from '../../src/app/main.ts';
import { seededRandom } from '../aggregation/seeded-random.ts';
import { eventually } from '../support/eventually.ts';
import { isFullForm, sampled } from '../support/full-form.ts';
import { zygoteProcesses } from '../support/zygote-processes.ts';
import { type RunnerInside, runnersInside } from './inside.ts';
import { ANYTHING, seedOf, Stage } from './stage.ts';

const EPISODES = 24;

/** An evaluation of this process, on two sandboxes whose environments stop at gates. */
class Fixture implements AsyncDisposable {
  readonly stage: Stage;
  readonly #muster: Muster;
  #progress: Progress | undefined;

  private constructor(stage: Stage, muster: Muster) {
    this.stage = stage;
    this.#muster = muster;
  }

  static async open(template: object = {}): Promise<Fixture> {
    const stage = await Stage.open();
    // However often a test kills, no episode is ever given up; nothing is duplicated, so that a kill hits what it was aimed at.
    const evaluation = { maxAttempts: 100, infrastructureRetries: 100, retryMilliseconds: 1, stragglerMilliseconds: 3_600_000 };
    const file = await stage.config({ evaluation, pool: { max: 2 }, template });
    return new Fixture(stage, await Muster.open(loadConfig({ file, environment: { HOME: '/' } })));
  }

  get outcomes(): number {
    return this.#progress?.outcomes ?? 0;
  }

  /** Resolves when the pool knows of the runners’ ends: only then may others finish the evaluation. */
  async untilMissed(count = 1): Promise<void> {
    await eventually('the runner’s death is known', () => {
      const totals = this.#progress?.pool.totals;
      return totals !== undefined && totals.died + totals.failed >= count;
    });
  }

  async evaluate(): Promise<Summary> {
    const suite = await this.stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: EPISODES } } });
    const checkpoint = ANYTHING;
    return this.#muster.evaluate({ suite, checkpoint }, { onProgress: (progress) => (this.#progress = progress) });
  }

  async runners(): Promise<readonly RunnerInside[]> {
    return runnersInside(this.stage.stateDir);
  }

  /** Kills the first runner that fits, as soon as there is one. */
  async killOne(what: string, fits: (runner: RunnerInside) => Promise<boolean>): Promise<void> {
    await eventually(`a runner ${what}`, async () => {
      for (const runner of await this.runners()) {
        if (!(await fits(runner))) continue;
        runner.kill();
        return true;
      }
      return false;
    });
  }

  /** Kills the first runner that stands at one of the gates. @returns which. */
  async killAtGate(gates: ReadonlySet<string>): Promise<string> {
    let found = '';
    await this.killOne('at a gate', async (runner) => {
      for (const gate of gates) if (await runner.isAt(gate)) found = gate;
      return found !== '';
    });
    return found;
  }

  /** Which of the gates a runner has come to. In which order is chance: what is played again may wait behind another. */
  async reached(gates: ReadonlySet<string>): Promise<string> {
    let found: string | undefined;
    await eventually('a runner is at a gate', async () => {
      for (const gate of gates) if ((await this.stage.countAt(gate)) > 0) found = gate;
      return found !== undefined;
    });
    return found ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#muster[Symbol.asyncDispose]();
    await this.stage[Symbol.asyncDispose]();
  }
}

async function undisturbedResult(): Promise<string> {
  await using fixture = await Fixture.open();
  return JSON.stringify((await fixture.evaluate()).official);
}

describe('a runner that is killed', () => {
  let undisturbed = '';
  beforeAll(async () => {
    undisturbed = await undisturbedResult();
  });

  // In the short form, runners are killed while they play, at the tail, and while they load in the course of many kills.
  it.runIf(isFullForm)('while it starts is replaced', async () => {
    // A forked one has started before it is visible.
    await using fixture = await Fixture.open({ start: 'plain' });
    await fixture.stage.closeGates('loading');
    const evaluation = fixture.evaluate();
    await fixture.killOne('that has not loaded anything', async (runner) => !(await runner.isAt('loading')));
    await fixture.untilMissed();
    await fixture.stage.openGates('loading');
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    // On a slow machine it may have said that it is ready by the time that the kill arrives.
    expect(run.pool.failed + run.pool.died).toBe(1);
  });

  it.runIf(isFullForm)('while it loads is replaced', async () => {
    await using fixture = await Fixture.open();
    await fixture.stage.closeGates('loading');
    const evaluation = fixture.evaluate();
    await fixture.killOne('that loads', async (runner) => runner.isAt('loading'));
    await fixture.untilMissed();
    await fixture.stage.openGates('loading');
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect(run.pool.died).toBe(1);
  });

  it('while it plays is replaced, and the episode is played again', async () => {
    await using fixture = await Fixture.open();
    await fixture.stage.closeGates('playing');
    const evaluation = fixture.evaluate();
    await fixture.killOne('that plays', async (runner) => runner.isAt('playing'));
    await fixture.untilMissed();
    await fixture.stage.openGates('playing');
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect({ died: run.pool.died, retried: run.retried }).toEqual({ died: 1, retried: 1 });
  });

  it.runIf(isFullForm)('while it idles between two evaluations is replaced', async () => {
    await using fixture = await Fixture.open();
    expect(JSON.stringify((await fixture.evaluate()).official)).toBe(undisturbed);
    await fixture.stage.closeGates('loading');
    await fixture.killOne('that idles', async () => true);
    const evaluation = fixture.evaluate();
    await fixture.untilMissed();
    await fixture.stage.openGates('loading');
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect(run.retried).toBe(0);
  });

  const tails: readonly (readonly [string, boolean, number])[] = [
    ['with nothing left to do is not missed', false, 0],
    ['in the last episode is replaced, and the episode is played again', true, 1],
  ];
  it.each(sampled(tails, ([, isLast]) => isLast))('at the tail %s', async (_, isLast, retried) => {
    await using fixture = await Fixture.open();
    const gate = `playing-${seedOf(EPISODES - 1)}`;
    await fixture.stage.closeGates(gate);
    const evaluation = fixture.evaluate();
    await eventually(
      'only the last episode is left',
      async () => fixture.outcomes === EPISODES - 1 && (await fixture.stage.countAt(gate)) === 1,
    );
    await fixture.killOne('of the two', async (runner) => (await runner.isAt(gate)) === isLast);
    await fixture.untilMissed();
    await fixture.stage.openGates(gate);
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect(run.retried).toBe(retried);
  });

  it.each(sampled([1, 2], (seed) => seed === 1))('again and again, at random points of its life (%i), changes nothing', async (seed) => {
    const random = seededRandom(seed);
    const episodes = Array.from({ length: EPISODES }, (_, index) => index).filter(() => random() < 0.3);
    const points = episodes.map((index) => `${random() < 0.5 ? 'resetting' : 'playing'}-${seedOf(index)}`);
    await using fixture = await Fixture.open();
    const gates = new Set(['loading', ...points]);
    await fixture.stage.closeGates(...gates);
    const evaluation = fixture.evaluate();
    while (gates.size > 0) {
      const gate = await fixture.killAtGate(gates);
      gates.delete(gate);
      await fixture.stage.openGates(gate);
    }
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect(run.pool.died).toBe(points.length + 1);
  });
});

describe('a zygote that is killed', () => {
  let undisturbed = '';
  beforeAll(async () => {
    undisturbed = await undisturbedResult();
  });

  it('while its sandboxes play is replaced with them, and their episodes are played again, not scored', async () => {
    await using fixture = await Fixture.open();
    await fixture.stage.closeGates('playing');
    const evaluation = fixture.evaluate();
    await eventually('both sandboxes play', async () => (await fixture.stage.countAt('playing')) === 2);
    process.kill((await zygoteProcesses(fixture.stage.stateDir)).warden, 'SIGKILL');
    await fixture.untilMissed(2);
    await fixture.stage.openGates('playing');
    const { official, run } = await evaluation;
    expect(JSON.stringify(official)).toBe(undisturbed);
    expect({ died: run.pool.died, retried: run.retried }).toEqual({ died: 2, retried: 2 });
  });

  it.runIf(isFullForm)('again and again, changes nothing', async () => {
    await using fixture = await Fixture.open();
    const gates = new Set([3, 9, 15].map((index) => `playing-${seedOf(index)}`));
    await fixture.stage.closeGates(...gates);
    const evaluation = fixture.evaluate();
    while (gates.size > 0) {
      const gate = await fixture.reached(gates);
      const { bubblewrap, warden } = await zygoteProcesses(fixture.stage.stateDir);
      process.kill(warden, 'SIGKILL');
      // It is the last to go: what is at a gate from here on is of the next zygote.
      await eventually('nothing is left of it', async () => (await readStartTime(bubblewrap)) === undefined);
      gates.delete(gate);
      await fixture.stage.openGates(gate);
    }
    expect(JSON.stringify((await evaluation).official)).toBe(undisturbed);
  });
});
