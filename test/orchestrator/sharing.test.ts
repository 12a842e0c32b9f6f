import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import type { Summary } from '../../src/orchestrator/summary.ts';
import type { Sharing } from '../../src/pool/shared-content.ts';
import { EvaluationScene, suiteWith } from '../support/evaluation-scene.ts';
import { scriptedRunner } from '../support/in-memory-runner.ts';

const POLICY = 'sha256:policy';
const CODE = 'sha256:code';
const NOTHING: ReadonlySet<string> = new Set();
const PROGRAM = scriptedRunner(({ environmentSeed }) => ({ return: (environmentSeed % 1000) / 999 }));

/** Two sandboxes at a time; `shares` tells what each of them has in memory, by how many there were before. */
async function evaluate(sharing: Sharing | undefined, shares: (before: number) => ReadonlySet<string>): Promise<Summary> {
  const wish = sharing ? { sharing } : {};
  await using scene = new EvaluationScene({ program: PROGRAM, clock: systemClock, sandboxes: 2, shares, ...wish });
  return await scene.evaluate(suiteWith());
}

function wish(...digests: readonly string[]): Sharing {
  return { digests, isOn: true, included: () => Promise.resolve(), [Symbol.dispose]: () => {} };
}

describe('an evaluation whose sandboxes are to share something', () => {
  it('gives those up that were made before it was shared, and plays on those that have it', async () => {
    const undisturbed = await evaluate(undefined, () => NOTHING);
    const shared = await evaluate(wish(POLICY), (before) => (before < 2 ? NOTHING : new Set([POLICY])));
    expect(shared.official).toEqual(undisturbed.official);
    expect(undisturbed.run.pool.created).toBe(2);
    expect(shared.run.pool.created).toBe(4);
    expect({ died: shared.run.pool.died, retried: shared.run.retried }).toEqual({ died: 0, retried: 0 });
  });

  it('wants all of it: one that has only a part is given up, too', async () => {
    const { run } = await evaluate(wish(POLICY, CODE), (before) => new Set(before < 2 ? [POLICY] : [CODE, POLICY, 'sha256:another']));
    expect(run.pool.created).toBe(4);
  });

  it('keeps those that have it', async () => {
    const { run } = await evaluate(wish(POLICY), () => new Set([POLICY]));
    expect(run.pool.created).toBe(2);
  });

  it('uses what there is when it cannot be shared', async () => {
    const { official, run } = await evaluate({ ...wish(POLICY), isOn: false }, () => NOTHING);
    expect(official.episodes).toBe(200);
    expect(run.pool.created).toBe(2);
  });

  it('uses what there is as soon as it turns out that it cannot be shared', async () => {
    let isOn = true;
    const sharing = {
      ...wish(POLICY),
      get isOn() {
        return isOn;
      },
    };
    const { official, run } = await evaluate(sharing, (before) => {
      isOn = before < 2;
      return NOTHING;
    });
    expect(official.episodes).toBe(200);
    expect(run.pool.created).toBeGreaterThan(2);
    expect(run.pool.created).toBeLessThanOrEqual(4);
  });
});
