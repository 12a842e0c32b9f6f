import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HEAVY_BODIES, head, RawConnection, ServerMemory } from '../fuzz/hostile-requests.ts';
import { eventually } from '../support/eventually.ts';
import { MusterServer } from './muster-server.ts';
import { SOURCES, Stage } from './stage.ts';

const MEGABYTE = 2 ** 20;
/** Of the whole process: a body of a megabyte is some ten once it has been read, and garbage is collected late. */
const MOST_BYTES = 1024 * MEGABYTE;
/** More than there is room for the bodies of. */
const CONNECTIONS = 320;
const MOST_FOR_SLOW_BYTES = 200 * MEGABYTE;

describe('the memory of a server stays bounded', () => {
  let stage: Stage;
  let server: MusterServer;
  let memory: ServerMemory;

  beforeAll(async () => {
    // Half a request is none to it, and never gets to the socket.
    nock.restore();
    stage = await Stage.open();
    const config = await stage.write('server.json', { sources: SOURCES, server: { port: 0 } });
    server = await MusterServer.start(stage, config, { deadlineMs: 300_000 });
    memory = new ServerMemory(server.command.pid);
  });

  afterAll(async () => {
    server.command.signal('SIGTERM');
    const ended = await server.command.ended;
    await stage[Symbol.asyncDispose]();
    expect(ended).toMatchObject({ exitCode: 0 });
    expect(ended.stderr).not.toContain('defect');
  });

  async function expectBounded(): Promise<void> {
    expect(await memory.peak()).toBeLessThan(MOST_BYTES);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  }

  async function opened(count: number): Promise<RawConnection[]> {
    return Promise.all(Array.from({ length: count }, () => RawConnection.open(server.url)));
  }

  function closeAll(connections: readonly RawConnection[]): void {
    for (const connection of connections) connection[Symbol.dispose]();
  }

  it.each(Object.entries(HEAVY_BODIES))('whatever a body is made of: %s', { timeout: 120_000 }, async (_, make) => {
    const body = make();
    const headers = { 'content-type': 'application/json' };
    const answers = Array.from({ length: 8 }, async () => fetch(`${server.url}/v1/evaluations`, { method: 'POST', headers, body }));
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([400]));
    await expectBounded();
  });

  it('however many bodies come slowly', { timeout: 120_000 }, async () => {
    const before = await memory.reset();
    const connections = await opened(CONNECTIONS);
    const almost = head([`Content-Length: ${MEGABYTE}`]) + '['.repeat(MEGABYTE - 1);
    await Promise.all(connections.map(async (connection) => connection.send(almost)));
    await eventually(
      'all that there is no room for are told',
      () => connections.filter(({ status }) => status === 503).length >= CONNECTIONS - 64,
    );
    expect((await memory.peak()) - before).toBeLessThan(MOST_FOR_SLOW_BYTES);
    await expectBounded();
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
    const connections = await opened(CONNECTIONS);
    const many = head(Array.from({ length: 1500 }, (_, at) => `x${at}: y`));
    const long = head([`x: ${'y'.repeat(10 * MEGABYTE)}`]);
    await Promise.all(connections.map(async (connection, at) => connection.send(at % 10 === 0 ? long : many)));
    await eventually('all are answered or cut off', () => connections.every(({ status, isClosed }) => status !== undefined || isClosed));
    expect(connections.map(({ status }) => status)).toContain(431);
    await expectBounded();
    closeAll(connections);
  });

  it('however much longer than it may be a body is', { timeout: 120_000 }, async () => {
    const connections = await opened(16);
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
    // Whoever goes on sending may not get to hear of it.
    expect(connections.flatMap(({ status }) => status ?? []).filter((status) => status !== 413)).toEqual([]);
    await expectBounded();
    closeAll(connections);
  });
});
