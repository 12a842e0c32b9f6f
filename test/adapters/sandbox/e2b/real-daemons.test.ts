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

/**
 * Answers the requests that the daemon's start needs, and every other request with a list of the files that it sees. Node may be in a checkout
 * that the walls hide.
 */
const standIn = (seen: readonly string[]): string => `#!/usr/bin/env python3
import http.server, json, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen = [path for path in ${JSON.stringify(seen)} if os.path.exists(path)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(seen).encode())
    do_POST = do_GET
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[-1])), Answer).serve_forever()
`;

describe.skipIf(!canMount)('a real sandbox daemon (needs root)', () => {
  it('sees the checkout, and no other file of the directories in which it and the checkout lie', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-daemon-'));
    const [checkout, daemon, other] = ['deep/checkout', 'envd', 'other'].map((name) => path.join(directory, name));
    if (checkout === undefined || daemon === undefined || other === undefined) throw new Error('three paths were made');
    const runner = path.join(checkout, 'runner');
    await mkdir(runner, { recursive: true });
    await writeFile(other, '');
    await writeFile(daemon, standIn([runner, other, '/bin/sh']), { mode: 0o755 });
    const daemons = new RealDaemons(daemon, checkout);
    const front = createServer((request, response) => {
      daemons.forward('one', request, response).catch((error: Error) => response.destroy(error));
    }).listen(0, '127.0.0.1');
    try {
      await once(front, 'listening');
      const answer = await fetch(`http://127.0.0.1:${portOf(front)}/files`);
      expect(await answer.json()).toEqual([runner, '/bin/sh']);
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
