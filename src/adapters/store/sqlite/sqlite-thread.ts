import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { getMessage } from '../../../kernel/errors.ts';
import type { ThreadData } from '../../../kernel/thread.ts';
import { getSqliteCode, SqliteConnection } from './sqlite-connection.ts';
import type { Message, Orders, Request } from './sqlite-messages.ts';

/** A thread for one file: takes the waiting requests, carries them out in one commit, and answers. */

/** Bounds how long the first of many requests waits for its answer. */
const MOST_AT_ONCE = 256;

const port = parentPort;
if (port === null) throw new Error('this module is a thread');
const say = (message: Message): void => port.postMessage(message);

const { data: path }: ThreadData<string> = workerData;
try {
  const connection = new SqliteConnection(path);
  port.on('message', (first: Orders) => {
    const requests: Request[] = [];
    let isLast = false;
    for (let orders: Orders | undefined = first; orders !== undefined; orders = receiveOrders()) {
      for (const order of orders) {
        if (order.kind === 'close') isLast = true;
        else requests.push(order);
      }
      if (requests.length >= MOST_AT_ONCE) break;
    }
    // One message may have more orders than one commit takes.
    for (let at = 0; at < requests.length; at += MOST_AT_ONCE)
      for (const replies of connection.answer(requests.slice(at, at + MOST_AT_ONCE))) say({ kind: 'replies', replies });
    if (!isLast) return;
    connection.close();
    port.close();
  });
  say({ kind: 'open' });
} catch (error) {
  say({ kind: 'not-open', code: getSqliteCode(error), message: getMessage(error) });
  port.close();
}

function receiveOrders(): Orders | undefined {
  return port === null ? undefined : receiveMessageOnPort(port)?.message;
}
