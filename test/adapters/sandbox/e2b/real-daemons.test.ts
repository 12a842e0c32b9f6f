import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { RealDaemons } from '../../../support/e2b/real-daemons.ts';

nock.restore();

const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

/** Answers as the daemon does as far as its start needs it, and says to anything else what it sees of the machine's files. */
const standIn = (seen: readonly string[]): string => `#!/bin/sh
exec ${process.execPath} -e '
const { existsSync } = require("node:fs");
const seen = ${JSON.stringify(seen)};
require("node:http").createServer((request, response) => {
  response.end(request.url === "/files" ? JSON.stringify(seen.filter((path) => existsSync(path))) : "ok");
}).listen(Number(process.argv.at(-1)), "127.0.0.1");' -- "$@"
`;

describe.skipIf(!canMount)('a real sandbox daemon (needs root)', () => {
  it('runs wherever it and the checkout lie, and sees the checkout, but nothing else of where both are', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-daemon-'));
    const [checkout, daemon, other] = ['deep/checkout', 'envd', 'other'].map((name) => path.join(directory, name));
    if (checkout === undefined || daemon === undefined || other === undefined) throw new Error('three paths were made');
    const runner = path.join(checkout, 'runner');
    await mkdir(runner, { recursive: true });
    await writeFile(other, '');
    await writeFile(daemon, standIn([runner, other, process.execPath]), { mode: 0o755 });
    const daemons = new RealDaemons(daemon, checkout);
    const front = createServer((request, response) => void daemons.forward('one', request, response)).listen(0, '127.0.0.1');
    try {
      await once(front, 'listening');
      const answer = await fetch(`http://127.0.0.1:${portOf(front)}/files`);
      expect(await answer.json()).toEqual([runner, process.execPath]);
    } finally {
      front.close();
      await daemons[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    }
  });
});

function portOf(server: Server): AddressInfo['port'] {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on a port');
  return address.port;
}
