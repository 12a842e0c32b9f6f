import { systemClock } from '../../src/kernel/clock.ts';
import { parseEvaluationId, parseOwnerId } from '../../src/kernel/ids.ts';
import { completedRange, LEG } from './store-fixture.ts';
import { openStore } from './store-place.ts';
import { WRITTEN_AT_ONCE } from './store-writer-batch.ts';

/**
 * A process that is killed: claims an evaluation, appends batches of episodes, two at a time, and tells on a line of stdout how many are
 * stored, as soon as it knows.
 */
const [place = '', id = '', from = ''] = process.argv.slice(2);
// The end of the test that started it is its own end.
process.stdin.once('end', () => process.exit(1)).resume();

const store = await openStore(place, systemClock);
const owned = await store.ownerships.claim(parseEvaluationId(id), parseOwnerId(`writer-${from}`), 1);
if (!owned) throw new Error(`${id} has another owner`);
const append = (start: number): Promise<void> => store.episodes.append(owned, LEG, completedRange(start, start + WRITTEN_AT_ONCE));
for (let next = Number(from), before = Promise.resolve(); ; next += WRITTEN_AT_ONCE) {
  const appended = append(next);
  await before;
  if (next > Number(from)) process.stdout.write(`${next}\n`);
  before = appended;
}
