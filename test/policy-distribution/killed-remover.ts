import { systemClock, type Clock } from '../../src/kernel/clock.ts';
import { isDigest } from '../../src/kernel/ids.ts';
import { CheckpointRecords } from '../../src/policy-distribution/store/checkpoint-records.ts';
import { ContentStore } from '../../src/policy-distribution/store/content-store.ts';
import { IncomingNames } from '../../src/policy-distribution/files/incoming-names.ts';
import { PackedFiles } from '../../src/policy-distribution/store/packed-files.ts';

/** Started as a process of its own: it removes something from a store, and is killed when that is out of everybody's reach and not gone yet. */
const [directory = '', what, digest = ''] = process.argv.slice(2);
if (!isDigest(digest)) throw new Error(`${digest} is no digest`);
let isOut = false;
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('the process goes on');
};
/** Whether a hold of another machine still counts is asked once the record is out of reach. */
const clock: Clock = { ...systemClock, date: () => (isOut ? die() : systemClock.date()) };
const names = await IncomingNames.create(clock);
const never = Number.MAX_SAFE_INTEGER;
if (what === 'objects') await (await ContentStore.open(directory, names, clock)).remove(digest, never, async () => die());
if (what === 'packed') {
  const packed = await PackedFiles.open(directory, names);
  const file = await packed.find(digest);
  if (file) await packed.remove(file, async () => die());
}
if (what === 'checkpoints') {
  const records = await CheckpointRecords.open(directory, names, clock);
  isOut = true;
  await records.forget(digest, never);
}
