import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { once } from 'node:events';

const SOCKET = 'gate.sock';
const TLS_PORT = 443;
const IDLE_MS = 120_000;

/**
 * The only way out of a sandbox in which dependencies are installed: a proxy behind a socket in a directory of the sandbox, which connects to the
 * named hosts only. The sandbox has no other network.
 */
export class RegistryGate implements AsyncDisposable {
  readonly #server: Server;
  readonly #open = new Set<Duplex>();
  /** Holds the socket. */
  readonly directory: string;

  private constructor(server: Server, directory: string) {
    this.#server = server;
    this.directory = directory;
  }

  /** @param hosts names; `*.name` includes all below it. */
  static async open(hosts: readonly string[]): Promise<RegistryGate> {
    const directory = await mkdtemp(join(tmpdir(), 'muster-registries-'));
    const server = createServer((_, response) => response.writeHead(403).end('only CONNECT is served\n'));
    const gate = new RegistryGate(server, directory);
    server.on('connect', (request, socket: Duplex) => gate.#connect(request.url ?? '', socket, hosts));
    server.listen(join(directory, SOCKET));
    await once(server, 'listening');
    // The programs of a sandbox are another user's.
    await chmod(directory, 0o755);
    await chmod(join(directory, SOCKET), 0o777);
    return gate;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
    await rm(this.directory, { recursive: true, force: true });
  }

  #connect(url: string, socket: Duplex, hosts: readonly string[]): void {
    this.#keep(socket);
    const { host = '', port = '' } = /^(?<host>[\w.-]{1,253}):(?<port>\d{1,5})$/.exec(url)?.groups ?? {};
    if (Number(port) !== TLS_PORT || !isAllowed(host.toLowerCase(), hosts)) {
      socket.end(`HTTP/1.1 403 Forbidden\r\nX-Reason: ${host} is no registry that --registry names\r\n\r\n`);
      return;
    }
    const upstream: Socket = connect(TLS_PORT, host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
    upstream.setTimeout(IDLE_MS, () => upstream.destroy());
    this.#keep(upstream);
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  }

  #keep(socket: Duplex): void {
    this.#open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#open.delete(socket));
  }
}

function isAllowed(host: string, hosts: readonly string[]): boolean {
  return hosts.some((each) => (each.startsWith('*.') ? host.endsWith(each.slice(1).toLowerCase()) : host === each.toLowerCase()));
}
