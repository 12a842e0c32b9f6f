import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { dependent } from '../../scripts/dependent-process.ts';
import { freePort } from './free-port.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FAKE_GCS = path.join(ROOT, '.tools/fake-gcs-server');
const MOTO = path.join(ROOT, '.venv-moto/bin/moto_server');

/** Why there is no such server here; undefined when there is one. */
export const noGcsHere = existsSync(FAKE_GCS)
  ? undefined
  : 'fake-gcs-server is missing: "node scripts/setup.mjs --test" installs it where Go is';
export const noS3Here = existsSync(MOTO) ? undefined : 'moto_server is missing: "node scripts/setup.mjs --test" installs it';

/** A local server that speaks an object store's protocol. It ends with its test, also when that is killed. */
export interface ObjectServer extends AsyncDisposable {
  readonly url: string;
}

/** Google's protocol, with generations that are held to. Everything is in memory. */
export async function startGcs(): Promise<ObjectServer> {
  const port = await freePort();
  const args = ['-scheme', 'http', '-backend', 'memory', '-host', '127.0.0.1', '-port', String(port)];
  await using starting = new AsyncDisposableStack();
  const { server, said } = started(FAKE_GCS, args);
  starting.defer(() => ended(server));
  await said(/server started at/);
  return serverAt(`http://127.0.0.1:${port}`, starting.move());
}

/** Amazon's protocol. */
export async function startS3(): Promise<ObjectServer> {
  await using starting = new AsyncDisposableStack();
  const { server, said } = started(MOTO, ['-H', '127.0.0.1', '-p', '0']);
  starting.defer(() => ended(server));
  const [, url = ''] = await said(/Running on (http:\/\/127\.0\.0\.1:\d+)/);
  return serverAt(url, starting.move());
}

function serverAt(url: string, owned: AsyncDisposableStack): ObjectServer {
  return { url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

interface Started {
  readonly server: ChildProcess;
  /** Resolves with the first line that matches. */
  readonly said: (pattern: RegExp) => Promise<RegExpExecArray>;
}

function started(command: string, args: readonly string[]): Started {
  const server = spawn(...dependent(command, args), { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const said = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const onLine = (line: string): void => {
      lines.push(line);
      const match = pattern.exec(line);
      if (match) resolve(match);
    };
    for (const stream of [server.stdout, server.stderr]) createInterface({ input: stream }).on('line', onLine);
    server.once('exit', () => reject(new Error(`${command} did not start: ${lines.join('\n')}`)));
    server.once('error', reject);
    return promise;
  };
  return { server, said };
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.kill('SIGKILL');
  await exit;
}
