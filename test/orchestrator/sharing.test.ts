import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { raceWithAbort } from '../../src/kernel/abort.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseDigest } from '../../src/kernel/ids.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { getDigestHex } from '../../src/policy-distribution/checkpoint.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import type { Sharing } from '../../src/pool/ports/shared-content.ts';
import { EvaluationFixture, suiteWith } from '../support/evaluation-fixture.ts';
import { scriptedRunner } from '../support/in-memory-runner.ts';

const POLICY = 'sha256:policy';
const CODE = 'sha256:code';
const NOTHING: ReadonlySet<string> = new Set();
const PROGRAM = scriptedRunner(({ environmentSeed }) => ({ return: (environmentSeed % 1000) / 999 }));

/** Two sandboxes at a time; `shares` tells what each of them has in memory, by how many there were before. */
async function evaluate(sharing: Sharing | undefined, shares: (before: number) => ReadonlySet<string>): Promise<Summary> {
  const wish = sharing ? { sharing } : {};
  await using fixture = new EvaluationFixture({ program: PROGRAM, clock: systemClock, sandboxes: 2, shares, ...wish });
  return await fixture.evaluate(suiteWith());
}

async function storedFile(): Promise<StoredCheckpoint> {
  const directory = await mkdtemp(join(tmpdir(), 'muster-sharing-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const hostPath = join(directory, 'policy.onnx');
  await writeFile(hostPath, 'weights');
  const digest = parseDigest(`sha256:${createHash('sha256').update('weights').digest('hex')}`);
  return { digest, kind: 'file', files: [{ path: 'policy.onnx', size: 7, digest, hostPath }], labels: {} };
}

function wish(...digests: readonly string[]): Sharing {
  return {
    digests,
    isOn: true,
    isLight: () => Promise.resolve(false),
    waitUntilIncluded: () => Promise.resolve(),
    [Symbol.dispose]: () => {},
  };
}

describe('an evaluation with shared content', () => {
  it('gives up sandboxes that were made before it was shared, and plays on those that have it', async () => {
    const undisturbed = await evaluate(undefined, () => NOTHING);
    const shared = await evaluate(wish(POLICY), (before) => (before < 2 ? NOTHING : new Set([POLICY])));
    expect(shared.official).toEqual(undisturbed.official);
    expect(undisturbed.run.pool.created).toBe(2);
    expect(shared.run.pool.created).toBe(4);
    expect({ died: shared.run.pool.died, retried: shared.run.retried }).toEqual({ died: 0, retried: 0 });
  });

  it('also gives up a sandbox that has only a part of it', async () => {
    const { run } = await evaluate(wish(POLICY, CODE), (before) => new Set(before < 2 ? [POLICY] : [CODE, POLICY, 'sha256:another']));
    expect(run.pool.created).toBe(4);
  });

  it('keeps those that have it', async () => {
    const { run } = await evaluate(wish(POLICY), () => new Set([POLICY]));
    expect(run.pool.created).toBe(2);
  });

  describe('and is light', () => {
    const light = (digest: string): Sharing => ({ ...wish(digest), isLight: () => Promise.resolve(true) });
    /** The policies of all loads, and what of uploaded files was taken away again. */
    async function loads(sharing: Sharing, checkpoint: StoredCheckpoint, shares = NOTHING) {
      const policies: unknown[] = [];
      const removed: string[] = [];
      const program = scriptedRunner(() => ({ return: 1 }), { onLoad: ({ policy }) => policies.push(policy) });
      await using fixture = new EvaluationFixture({ program, clock: systemClock, sandboxes: 1, shares: () => shares, sharing });
      // Sandboxes in memory take nothing away.
      const remove = async (path: string): Promise<void> => void removed.push(path);
      fixture.onSandbox = (sandbox) => Object.assign(sandbox, { capabilities: { remove } });
      const { run } = await fixture.evaluate(suiteWith({ stop: { rule: 'fixed', episodes: 5 } }), {}, checkpoint);
      return { policies, removed, created: run.pool.created };
    }

    it('is loaded, as already verified, by earlier sandboxes, and its file is removed again', async () => {
      const checkpoint = await storedFile();
      const { digest } = checkpoint;
      const { policies, removed, created } = await loads(light(digest), checkpoint);
      expect(policies).toEqual([{ path: expect.any(String), digest, verified: true }]);
      expect([removed, created]).toEqual([[getDigestHex(digest)], 1]);
    });

    it('is taken from memory by those that have it', async () => {
      const checkpoint = await storedFile();
      const { digest } = checkpoint;
      const { policies, removed } = await loads(light(digest), checkpoint, new Set([digest]));
      expect([policies, removed]).toEqual([[{ path: expect.any(String), digest }], []]);
    });

    it('is verified by each sandbox when it turns out that it cannot be shared', async () => {
      const checkpoint = await storedFile();
      const { digest } = checkpoint;
      const { policies, removed } = await loads({ ...light(digest), isOn: false }, checkpoint);
      expect([policies, removed]).toEqual([[{ path: expect.any(String), digest }], []]);
    });

    it('replaces earlier sandboxes when it is a directory, whose files may be read later', async () => {
      const checkpoint = { ...(await storedFile()), kind: 'directory' } as const;
      const { digest } = checkpoint;
      const shares = (before: number): ReadonlySet<string> => (before === 0 ? NOTHING : new Set([digest]));
      await using fixture = new EvaluationFixture({ program: PROGRAM, clock: systemClock, sandboxes: 1, shares, sharing: light(digest) });
      const { run } = await fixture.evaluate(suiteWith({ stop: { rule: 'fixed', episodes: 5 } }), {}, checkpoint);
      expect(run.pool.created).toBe(2);
    });

    it('fails an evaluation that waits too long until it is loaded', async () => {
      const never = {
        ...wish(POLICY),
        isLight: (_digest: string, signal: AbortSignal) => raceWithAbort(new Promise<never>(() => {}), signal),
      };
      const evaluation = { loadMilliseconds: 20, infrastructureRetries: 0 };
      await using fixture = new EvaluationFixture({
        program: PROGRAM,
        clock: systemClock,
        sandboxes: 1,
        shares: () => NOTHING,
        sharing: never,
        evaluation,
      });
      const outcome = fixture.evaluate(suiteWith());
      await expect(outcome).rejects.toThrow('loading the checkpoint took more than 20 ms');
    });
  });

  it('uses existing sandboxes when it cannot be shared', async () => {
    const { official, run } = await evaluate({ ...wish(POLICY), isOn: false }, () => NOTHING);
    expect(official.episodes).toBe(200);
    expect(run.pool.created).toBe(2);
  });

  it('uses existing sandboxes as soon as sharing has failed', async () => {
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
