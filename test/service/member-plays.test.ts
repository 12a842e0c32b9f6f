import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { parseStreamId } from '../../src/agents/rollouts/streams/stream-ids.ts';
import { completeTerms, givenTermsSchema } from '../../src/agents/rollouts/streams/stream-order.ts';
import { raceWithAbort } from '../../src/kernel/abort.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { MemberPlays } from '../../src/service/rollouts/member-plays.ts';
import type { OpenRollout } from '../../src/service/rollouts/rollout-player.ts';

it('members begin as other agents end or fail, and no more act at a time than the stream may have', async () => {
  const begun: { readonly rep: number; readonly onActed: () => void; readonly fail: (error: Error) => void }[] = [];
  const failures: unknown[] = [];
  const rollout: OpenRollout = {
    model: 'm',
    problem: undefined,
    group: () => Promise.reject(new RangeError('no group is accepted here')),
    play: ({ rep }, { onActed }, signal) => {
      const { promise, reject } = Promise.withResolvers<never>();
      begun.push({ rep, onActed, fail: reject });
      return raceWithAbort(promise, signal);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await using plays = new MemberPlays({
    stream: parseStreamId('ro-a'),
    terms: completeTerms(givenTermsSchema.parse({ groupSize: 4, concurrency: 2, maxStaleness: 1 })),
    rollout,
    version: () => undefined,
    clock: systemClock,
    keep: () => Promise.reject(new RangeError('no member ends here')),
    onLost: (detail) => failures.push(detail),
    onChange: () => undefined,
    onFailure: (error) => failures.push(error),
  });
  const listBegun = async (): Promise<readonly number[]> => {
    await setImmediate();
    return begun.map(({ rep }) => rep);
  };
  plays.add(0);
  plays.begin(0, 0, 4);
  expect(await listBegun()).toEqual([0, 1]);
  begun[1]?.onActed();
  expect(await listBegun()).toEqual([0, 1, 2]);
  expect(plays.countGrading(0)).toBe(1);
  const broken = new Error('the task is broken');
  begun[0]?.fail(broken);
  expect(await listBegun()).toEqual([0, 1, 2, 3]);
  // A member that has acted frees one place, and no second one when its grading ends.
  begun[1]?.fail(broken);
  plays.begin(0, 4, 5);
  expect(await listBegun()).toEqual([0, 1, 2, 3]);
  expect(failures).toEqual([broken, broken]);
});
