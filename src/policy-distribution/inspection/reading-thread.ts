import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { ThreadData } from '../../kernel/thread.ts';
import { MalformedDelta } from '../delta/delta-format.ts';
import type { ThreadOrder, ThreadReply } from './reading-messages.ts';
import { readHere, type ReadingKind } from './readings.ts';
import type { ReadAt } from '../formats/read-at.ts';

/** A thread that reads one file for its process, and ends. It opens nothing itself: it requests each stretch. */

const port = parentPort;
if (port === null) throw new Error('this module is a thread');
const say = (reply: ThreadReply<ReadingKind>): void => port.postMessage(reply);

const readAt: ReadAt = async (position, length) => {
  const sent = once(port, 'message');
  say({ says: 'wants', position, length });
  const [bytes]: Uint8Array[] = await sent;
  if (bytes === undefined) throw new Error('no bytes came');
  return bytes;
};

/** The count of unpacked bytes is ignored: no request waits for this thread. */
const take = (): void => undefined;

async function read({ kind, order }: ThreadOrder<ReadingKind>): Promise<void> {
  try {
    say({ says: 'read', answer: await readHere(kind, order, readAt, take) });
  } catch (error) {
    if (error instanceof InputError) say({ says: 'refused', code: error.code, message: error.message });
    else if (error instanceof MalformedDelta) say({ says: 'malformed', problem: error.message });
    else say({ says: 'failed', message: getMessage(error) });
  }
}

const { data }: ThreadData<ThreadOrder<ReadingKind>> = workerData;
void read(data).finally(() => port.close());
