import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { extent } from '../support/full-form.ts';
import { FreshServer } from './fresh-server.ts';

const MEBIBYTE = 2 ** 20;
const MEBIBYTES = extent({ short: 128, full: 1024, variable: 'MUSTER_UPLOAD_MIB' });
/** A bound on memory between the socket and the disk, uncollected garbage included: 40 MiB were seen, 66 with a gibibyte. A server that kept the upload would need all of it. */
const MOST_BYTES = 96 * MEBIBYTE;

/** Makes parts from one block. No two are equal, and each is made when it is read. */
function* piecesOf(first: Buffer): Generator<Buffer> {
  for (let at = 0; at < MEBIBYTES; at += 1) {
    const piece = Buffer.from(first);
    piece.writeUInt32LE(at);
    yield piece;
  }
}

/** @returns the status of the answer. */
async function sent(url: string, sha256: string, body: Iterable<Buffer>): Promise<number> {
  const put = request(`${url}/v1/checkpoints/${sha256}?name=policy.bin`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', 'content-length': MEBIBYTES * MEBIBYTE },
  });
  const answered = once(put, 'response');
  for (const piece of body) if (!put.write(piece)) await once(put, 'drain');
  put.end();
  const [answer] = await answered;
  answer.resume();
  await once(answer, 'end');
  return Number(answer.statusCode);
}

describe('the memory of a server that is sent a checkpoint', () => {
  beforeAll(() => nock.restore());

  it(`does not grow with it: ${MEBIBYTES} MiB`, { timeout: 240_000 }, async () => {
    await using server = await FreshServer.start();
    const first = randomFillSync(Buffer.alloc(MEBIBYTE));
    const digest = createHash('sha256');
    for (const piece of piecesOf(first)) digest.update(piece);
    const before = await server.memory.reset();
    expect(await sent(server.url, digest.digest('hex'), piecesOf(first))).toBe(201);
    expect((await server.memory.peak()) - before).toBeLessThan(MOST_BYTES);
    await server.expectAlive();
  });
});
