import { createHash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { DigestOrder, DigestReply } from './block-digest.ts';

/** A thread that hashes blocks in order of arrival, returns each, and sends the digest in the end. */

const port = parentPort;
if (port === null) throw new Error('this module is a thread');
const hash = createHash('sha256');
const say = (reply: DigestReply, moved: readonly ArrayBuffer[] = []): void => port.postMessage(reply, [...moved]);

port.on('message', (order: DigestOrder) => {
  switch (order.kind) {
    case 'block':
      hash.update(new Uint8Array(order.buffer, 0, order.length));
      return say({ kind: 'block', buffer: order.buffer }, [order.buffer]);
    case 'end':
      say({ kind: 'digest', hex: hash.digest('hex') });
      return port.close();
  }
});
