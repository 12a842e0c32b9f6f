import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { HEAVY_BODIES, head, RawConnection } from '../fuzz/hostile-requests.ts';
import { eventually } from '../support/eventually.ts';
import { sampled } from '../support/full-form.ts';
import { FreshServer } from './fresh-server.ts';

const MEGABYTE = 2 ** 20;
/** Of the process, whose heap is bounded. Saying of each of 70,000 keys what is wrong with it takes 670 MiB. */
const MOST_BYTES = 600 * MEGABYTE;
/** More than there is room for the bodies of. */
const CONNECTIONS = 320;
/** What a server may come to hold beyond what it holds at its start. Without a bound of their own these hold 320, 440 and 120 MiB. */
const MOST_FOR_SLOW_BYTES = 160 * MEGABYTE;
const MOST_FOR_HEADERS_BYTES = 100 * MEGABYTE;
const MOST_FOR_LONG_BYTES = 70 * MEGABYTE;

/** The short form sends these: deep, wide, long, and no JSON. */
const HEAVIEST = new Set(['a mapping in a mapping', 'unknown keys', 'numbers without end', 'no JSON']);

function opened({ url }: FreshServer, count: number): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: count }, () => RawConnection.open(url)));
}

function closeAll(connections: readonly RawConnection[]): void {
  for (const connection of connections) connection[Symbol.dispose]();
}

describe('the memory of a server stays bounded', () => {
  // Half a request is none to it, and never gets to the socket.
  beforeAll(() => nock.restore());

  it('whatever bodies contain', { timeout: 240_000 }, async () => {
    await using server = await FreshServer.start();
    for (const [what, make] of sampled(Object.entries(HEAVY_BODIES), ([name]) => HEAVIEST.has(name))) {
      const body = make();
      const headers = { 'content-type': 'application/json' };
      const answers = Array.from({ length: 8 }, async () => fetch(`${server.url}/v1/evaluations`, { method: 'POST', headers, body }));
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      const isBounded = (await server.memory.peak()) < MOST_BYTES;
      expect({ what, statuses: new Set(statuses), isBounded }).toEqual({ what, statuses: new Set([400]), isBounded: true });
    }
    await server.expectAlive();
  });

  it('however many bodies come slowly', { timeout: 120_000 }, async () => {
    await using server = await FreshServer.start();
    const before = await server.memory.reset();
    const connections = await opened(server, CONNECTIONS);
    const almost = head([`Content-Length: ${MEGABYTE}`]) + '['.repeat(MEGABYTE - 1);
    await Promise.all(connections.map(async (connection) => connection.send(almost)));
    const isOpen = ({ status, isClosed }: RawConnection): boolean => status === undefined && !isClosed;
    await eventually('every submission beyond the bound is refused', () => connections.filter(isOpen).length <= 64);
    // A connection that still sends when it is closed may be reset, and its answer is lost.
    expect(new Set(connections.flatMap(({ status }) => status ?? []))).toEqual(new Set([503]));
    expect((await server.memory.peak()) - before).toBeLessThan(MOST_FOR_SLOW_BYTES);
    await server.expectAlive();
    closeAll(connections);
    await eventually('there is room again', async () => {
      const answer = await fetch(`${server.url}/v1/evaluations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '[]',
      });
      return answer.status === 400;
    });
  });

  it('however many headers come, and however long', { timeout: 120_000 }, async () => {
    await using server = await FreshServer.start();
    const before = await server.memory.reset();
    const connections = await opened(server, CONNECTIONS);
    const many = head(Array.from({ length: 1500 }, (_, at) => `x${at}: y`));
    const long = head([`x: ${'y'.repeat(10 * MEGABYTE)}`]);
    await Promise.all(connections.map(async (connection, at) => connection.send(at % 10 === 0 ? long : many)));
    await eventually('all are answered or cut off', () => connections.every(({ status, isClosed }) => status !== undefined || isClosed));
    expect(connections.map(({ status }) => status)).toContain(431);
    expect((await server.memory.peak()) - before).toBeLessThan(MOST_FOR_HEADERS_BYTES);
    await server.expectAlive();
    closeAll(connections);
  });

  it('however much a body exceeds its bound', { timeout: 120_000 }, async () => {
    await using server = await FreshServer.start();
    const before = await server.memory.reset();
    const connections = await opened(server, 16);
    const announced = head([`Content-Length: ${1000 * MEGABYTE}`]);
    const inChunks = head(['Transfer-Encoding: chunked']);
    const chunk = `${MEGABYTE.toString(16)}\r\n${'x'.repeat(MEGABYTE)}\r\n`;
    await Promise.all(
      connections.map(async (connection, at) => {
        await connection.send(at % 2 === 0 ? announced : inChunks);
        for (let sent = 0; sent < 8 && !connection.isClosed; sent += 1) await connection.send(chunk);
      }),
    );
    await eventually('all are refused', () => connections.every(({ status, isClosed }) => status === 413 || isClosed));
    // A client that goes on sending may not receive the answer.
    expect(connections.flatMap(({ status }) => status ?? []).filter((status) => status !== 413)).toEqual([]);
    expect((await server.memory.peak()) - before).toBeLessThan(MOST_FOR_LONG_BYTES);
    await server.expectAlive();
    closeAll(connections);
  });
});
