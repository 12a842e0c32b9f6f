import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UnidentifiedConnections } from '../../../../../src/adapters/sandbox/kubernetes/dial-back/unidentified-connections.ts';
import { eventually } from '../../../../support/eventually.ts';

nock.restore();

describe('connections that have not identified themselves', () => {
  let server: Server;
  let connections: UnidentifiedConnections;
  let accepted: Socket[];
  const clients: Socket[] = [];

  beforeEach(async () => {
    connections = new UnidentifiedConnections(4);
    accepted = [];
    server = createServer((socket) => {
      accepted.push(socket);
      connections.add(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    connections.dropAll();
    server.close();
    await once(server, 'close');
  });

  async function come(localAddress: string): Promise<Socket> {
    const before = accepted.length;
    const client = connect({ port: portOf(server), host: '127.0.0.1', localAddress });
    client.on('error', () => {});
    clients.push(client);
    await eventually('it was accepted', () => accepted.length > before);
    return client;
  }

  it('are bounded, and the address with the most of them loses one first', async () => {
    const honest = await come('127.0.0.2');
    const flood = [await come('127.0.0.3'), await come('127.0.0.3'), await come('127.0.0.3'), await come('127.0.0.3')];
    await eventually('the oldest of the flood is gone', () => flood[0]?.destroyed === true);
    await come('127.0.0.3');
    await eventually('the next of the flood is gone', () => flood[1]?.destroyed === true);
    expect(honest.destroyed).toBe(false);
  });

  it('no longer count once they are identified or closed', async () => {
    const known = await come('127.0.0.2');
    const [first] = accepted;
    if (first) connections.forget(first);
    const others = [await come('127.0.0.2'), await come('127.0.0.2'), await come('127.0.0.2')];
    others[0]?.destroy();
    await eventually('it is gone', () => accepted[1]?.destroyed === true);
    others.push(await come('127.0.0.2'), await come('127.0.0.2'));
    expect([known, ...others.slice(1)].map(({ destroyed }) => destroyed)).toEqual([false, false, false, false, false]);
  });
});

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen');
  return address.port;
}
