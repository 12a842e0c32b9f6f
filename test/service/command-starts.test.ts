import { expect, it } from 'vitest';
import { CommandStarts, PLACE_MS } from '../../src/service/arena/command-starts.ts';
import { ManualClock } from '../support/manual-clock.ts';

it('lets commands begin in order: the next one when one has ended, or has run for long enough', async () => {
  const clock = new ManualClock();
  const starts = new CommandStarts(clock, 2);
  const begun: number[] = [];
  const leaving = new AbortController();
  const entered = [0, 1, 2, 3, 4, 5].map(async (command) => {
    const place = await starts.enter(command === 3 ? leaving.signal : new AbortController().signal);
    begun.push(command);
    return place;
  });
  const [first] = entered;
  await clock.advance(0);
  expect(begun).toEqual([0, 1]);
  leaving.abort(new Error('it is given up'));
  await expect(entered[3]).rejects.toThrow('it is given up');
  (await first)?.[Symbol.dispose]();
  await clock.advance(0);
  expect(begun).toEqual([0, 1, 2]);
  await clock.advance(PLACE_MS);
  expect(begun).toEqual([0, 1, 2, 4, 5]);
  // The place of the first is another's by now.
  (await first)?.[Symbol.dispose]();
  const late = starts.enter(AbortSignal.abort(new Error('too late')));
  await expect(late).rejects.toThrow('too late');
});
