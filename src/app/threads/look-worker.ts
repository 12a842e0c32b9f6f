import { lstatSync, readdirSync, realpathSync, statSync, type BigIntStats } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../kernel/errors.ts';
import type { Found, FoundStats, LookAnswer, LookKind, LookOrder } from './look-messages.ts';

/** The thread of `LookThread`: does all looks of an order, and answers once. */

parentPort?.on('message', ({ id, looks }: LookOrder) => {
  const answer: LookAnswer = { id, found: looks.map(([kind, path]) => foundOf(kind, path)) };
  parentPort?.postMessage(answer);
});

function foundOf(kind: LookKind, path: string): Found {
  try {
    switch (kind) {
      case 'real':
        return { kind, path: realpathSync.native(path) };
      case 'stats':
        return { kind: 'stats', stats: told(statSync(path, { bigint: true })) };
      case 'ownStats':
        return { kind: 'stats', stats: told(lstatSync(path, { bigint: true })) };
      case 'entries':
        return { kind, entries: readdirSync(path, { withFileTypes: true }).map((entry) => [entry.name, entry.isFile()]) };
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
    return { kind: 'failed', code, message: messageOf(error) };
  }
}

/** What can be sent: a file's numbers, without what they know to do. */
function told({ mode, dev, ino, nlink, size, mtimeNs, ctimeNs }: BigIntStats): FoundStats {
  return { mode, dev, ino, nlink, size, mtimeNs, ctimeNs };
}
