import { z } from 'zod';
import { StoredJournal } from '../../src/evaluation-store/stored-journal.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseEvaluationId, parseOwnerId } from '../../src/kernel/ids.ts';
import { durableSuite, playStudy } from './durable-study.ts';
import { openStore } from './store-place.ts';
import { LEG } from './store-fixture.ts';

/** So many episodes it plays beyond the last one: time for the kill to come at any of its moments. */
const GRACE = 20;
/** It stands still for at most this long; the end of the process that kills it goes unnoticed meanwhile. */
const LONGEST_MS = 30_000;

/**
 * A Muster of its own process that goes on with an evaluation and is killed: says on stdout which episodes it plays, and concludes the
 * evaluation when it gets that far. It does not while it is to be killed: some episodes beyond the last one it stands still until it is.
 */
const order = z
  .object({
    place: z.string(),
    id: z.string(),
    owner: z.string(),
    stop: z.looseObject({}),
    allocation: z.string(),
    last: z.int().nullable(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));
// The end of the test that started it is its own end.
process.stdin.once('end', () => process.exit(1)).resume();

const store = await openStore(order.place, systemClock);
// Its time is over at once: the next process need not wait after a kill.
const ownership = await store.ownerships.claim(parseEvaluationId(order.id), parseOwnerId(order.owner), 0);
if (!ownership) throw new Error(`${order.id} is over, or another's`);
await store.course.begin(ownership);
let plays = 0;
const summary = await playStudy(durableSuite(order.stop, order.allocation), {
  slowness: 4,
  onPlay: (index) => {
    process.stdout.write(`${index}\n`);
    plays += 1;
    if (order.last !== null && plays === order.last + GRACE) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LONGEST_MS);
  },
  options: { journal: new StoredJournal(store, ownership, LEG) },
});
await store.course.conclude(ownership, { state: 'finished', summary, webhooks: [] });
await store[Symbol.asyncDispose]();
process.stdin.destroy();
