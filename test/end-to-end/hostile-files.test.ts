import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../support/full-form.ts';
import { sha256 } from '../support/upload-fixture.ts';
import { FreshServer } from './fresh-server.ts';

const MEBIBYTE = 2 ** 20;
/** What a file of some 60 MB passes through between the socket and the disk, and is not collected yet. Parsed, its header would be 1.2 GiB. */
const MOST_BYTES = 160 * MEBIBYTE;
/** Of the processor time that a server takes until a file is accepted. Parsed in the event loop, the header is more than half of it at one stretch; in a thread, 0.01. */
const MOST_SILENCE = 0.2;

function withHeader(header: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header]);
}

/** What they are sent as, and what is said of them. */
const HOSTILE: readonly (readonly [what: string, query: string, file: () => Buffer, problem: string])[] = [
  ['a header of nested lists and objects', 'name=p.safetensors', () => withHeader(Buffer.alloc(60e6, '{"a":[')), 'at most 33554432'],
  ['as many of them as a header may have bytes', 'name=p.safetensors', () => withHeader(Buffer.alloc(33e6, '{"a":[')), 'nested lists'],
  [
    'a header of millions of tensors',
    'name=p.safetensors',
    () => withHeader(Buffer.concat([Buffer.from('{"a":1'), Buffer.alloc(33e6, ',"a":1')])),
    'more than 1000000 values',
  ],
  [
    'a manifest of half a million files',
    'kind=manifest',
    () => Buffer.alloc(40e6, `${'0'.repeat(64)}  a/b/c/d/e/f\n`),
    'more than 10000 files',
  ],
];

/** A header that is too long to be read, and a manifest, which is read. */
const SHORT_FORM = new Set(['a header of nested lists and objects', 'a manifest of half a million files']);

/** Sends bytes [begin, end) of a file. */
async function send(
  { url, token }: FreshServer,
  file: Buffer,
  begin = 0,
  end = file.length,
  query = 'name=policy.safetensors',
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${url}/v1/checkpoints/${sha256(file)}?${query}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      'content-range': `bytes ${begin}-${end - 1}/${file.length}`,
    },
    body: new Uint8Array(file.subarray(begin, end)),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Zero bytes each, and 100,000 of them. */
function manyTensors(): Buffer {
  const entry = (_: unknown, at: number): string => `"layers.${at}.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`;
  return withHeader(Buffer.from(`{${Array.from({ length: 100_000 }, entry).join(',')}}`));
}

/**
 * What the event loop does between one answer to another request and the next, at most, from a file's last byte until it is accepted: as a share of the
 * processor time that the server takes meanwhile, which other work of the machine does not change.
 */
async function longestSilence(server: FreshServer, file: Buffer): Promise<number> {
  expect((await send(server, file, 0, file.length - 1)).status).toBe(202);
  const times = [await server.processorTime()];
  const over = new AbortController();
  const accepted = send(server, file, file.length - 1).finally(() => over.abort());
  while (!over.signal.aborted) {
    await server.expectAlive();
    times.push(await server.processorTime());
  }
  expect((await accepted).status).toBe(201);
  const silences = times.slice(1).map(({ eventLoop }, at) => eventLoop - (times[at]?.eventLoop ?? 0));
  return Math.max(...silences) / ((times.at(-1)?.all ?? 0) - (times[0]?.all ?? 0));
}

describe('a server with tokens that is sent files made to keep it busy', () => {
  beforeAll(() => nock.restore());

  it.each(sampled(HOSTILE, ([what]) => SHORT_FORM.has(what)))(
    'refuses it, and holds little of it in memory: %s',
    { timeout: 120_000 },
    async (_, query, make, problem) => {
      await using server = await FreshServer.start('tokens');
      const file = make();
      const before = await server.memory.reset();
      const answer = await send(server, file, 0, file.length, query);
      expect(answer).toEqual({ status: 422, text: expect.stringContaining(problem) });
      expect((await server.memory.peak()) - before).toBeLessThan(MOST_BYTES);
      await server.expectAlive();
    },
  );

  it('answers others while it reads the largest allowed number of tensors', { timeout: 120_000 }, async () => {
    await using server = await FreshServer.start('tokens');
    expect(await longestSilence(server, manyTensors())).toBeLessThan(MOST_SILENCE);
  });
});
