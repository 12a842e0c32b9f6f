import type { Socket } from 'node:net';

/** Connections that have not identified themselves yet. Legitimate ones do so at once. */
const MOST = 1024;

/** Their maximum. Beyond it, one of the address with the most is closed, so that a flood displaces its own connections first. */
export class UnidentifiedConnections {
  readonly #byAddress = new Map<string, Map<string, Socket>>();
  readonly #most: number;
  #size = 0;

  constructor(most = MOST) {
    this.#most = most;
  }

  /** Counts the socket until it is closed or `forget` is called. */
  add(socket: Socket): void {
    if (this.#size >= this.#most) this.#makeRoom();
    const { address, port } = getOrigin(socket);
    const sockets = this.#byAddress.get(address) ?? new Map<string, Socket>();
    this.#byAddress.set(address, sockets);
    sockets.set(port, socket);
    this.#size += 1;
    socket.once('close', () => this.#remove(address, port, socket));
  }

  /** Forgets a connection that has identified itself. @param socket this connection, or TLS over it. */
  forget(socket: Socket): void {
    const { address, port } = getOrigin(socket);
    this.#remove(address, port, undefined);
  }

  dropAll(): void {
    for (const sockets of this.#byAddress.values()) for (const socket of sockets.values()) socket.destroy();
  }

  #remove(address: string, port: string, socket: Socket | undefined): void {
    const sockets = this.#byAddress.get(address);
    const found = sockets?.get(port);
    if (!sockets || !found || (socket && found !== socket)) return;
    sockets.delete(port);
    if (sockets.size === 0) this.#byAddress.delete(address);
    this.#size -= 1;
  }

  #makeRoom(): void {
    const most = [...this.#byAddress.entries()].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    for (const [port, oldest] of most[1]) {
      this.#remove(most[0], port, undefined);
      oldest.destroy();
      return;
    }
  }
}

function getOrigin({ remoteAddress = '', remotePort = 0 }: Socket): { address: string; port: string } {
  return { address: remoteAddress, port: String(remotePort) };
}
