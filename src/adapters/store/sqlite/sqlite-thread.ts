import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { getMessage } from '../../../kernel/errors.ts';
import type { ThreadData } from '../../../kernel/thread.ts';
import { getSqliteCode, SqliteConnection } from './sqlite-connection.ts';
import type { Message, Order, Request } from './sqlite-messages.ts';

/** A thread for one file: takes the waiting requests, carries them out in one commit, and answers. */

/** Bounds how long the first of many requests waits for its answer. */
const MOST_AT_ONCE = 256;

const port = parentPort;
if (port === null) throw new Error('this module is a thread');
const say = (message: Message): void => port.postMessage(message);

const { data: path }: ThreadData<string> = workerData;
try {
  const connection = new SqliteConnection(path);
  port.on('message', (order: Order) => {
    const requests: Request[] = [];
    let isLast = false;
    for (let next: Order | undefined = order; next !== undefined; next = receiveOrder()) {
      if (next.kind === 'close') isLast = true;
      else requests.push(next);
      if (requests.length === MOST_AT_ONCE) break;
    }
    for (const replies of connection.answer(requests)) say({ kind: 'replies', replies });
    if (!isLast) return;
    connection.close();
    port.close();
  });
  say({ kind: 'open' });
} catch (error) {
  say({ kind: 'not-open', code: getSqliteCode(error), message: getMessage(error) });
  port.close();
}

function receiveOrder(): Order | undefined {
  return port === null ? undefined : receiveMessageOnPort(port)?.message;
}
