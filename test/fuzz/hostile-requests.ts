import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';

/** One megabyte less what stands around it: the longest body that a server takes by default. */
const LONGEST = 2 ** 20;

/** Bodies that cost more than they weigh: each as long as one may be. */
export const HEAVY_BODIES: Readonly<Record<string, () => string>> = {
  'a list in a list in a list': () => `{"suite":${'['.repeat(LONGEST / 2 - 20)}${']'.repeat(LONGEST / 2 - 20)}}`,
  'a mapping in a mapping': () => `{"suite":${'{"a":'.repeat(170_000)}1${'}'.repeat(170_000)}}`,
  'unknown keys': () => mapping((key) => `"${key}":1`),
  'labels without end': () => `{"suite":"x","checkpoint":{"uri":"/x"},"labels":${mapping((key) => `"${key}":1`)}}`,
  'arguments without end': () =>
    `{"suite":{"name":"x","environment":{"entry":"a:b","kwargs":${mapping((key) => `"${key}":[]`)}},"reward":{"bounds":[0,1]}},"checkpoint":{"uri":"/x"}}`,
  'candidates without end': () => `{"suite":"x","baseline":{"uri":"/x"},"candidates":[${'{"u":1},'.repeat(120_000)}{}]}`,
  'a word without end': () => `{"suite":"${'x'.repeat(LONGEST - 40)}"}`,
  'numbers without end': () => `{"suite":[${'1e9,'.repeat(250_000)}1]}`,
  'no JSON': () => '{'.repeat(LONGEST - 1),
};

function mapping(member: (key: string) => string): string {
  return `{${Array.from({ length: 70_000 }, (_, at) => member(`k${at}`)).join(',')}}`;
}

/** The memory of a server's process, by the kernel's books. */
export class ServerMemory {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Forgets what it has held at most until now. @returns bytes that it holds now. */
  async reset(): Promise<number> {
    await writeFile(`/proc/${this.#pid}/clear_refs`, '5');
    return this.#field('VmRSS');
  }

  /** Most bytes that it has held since. */
  async peak(): Promise<number> {
    return this.#field('VmHWM');
  }

  async #field(name: string): Promise<number> {
    const status = await readFile(`/proc/${this.#pid}/status`, 'utf8');
    return 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  }
}

/** A connection on which whatever one likes is sent, byte by byte. */
export class RawConnection implements Disposable {
  readonly #socket: Socket;
  #heard = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => (this.#heard += text));
    // Servers close such connections; who sends on gets a reset.
    socket.on('error', () => undefined);
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  /** Resolves when it is on its way, or the reader is gone. */
  async send(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#socket.writable) this.#socket.write(text, 'latin1', () => resolve());
    else resolve();
    await promise;
  }

  /** Of the first answer; undefined before it has come. */
  get status(): number | undefined {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(this.#heard)?.[1];
    return status === undefined ? undefined : Number(status);
  }

  get isClosed(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** The head of a request that brings a body. @param headers further ones. */
export function head(headers: readonly string[]): string {
  return ['POST /v1/evaluations HTTP/1.1', 'Host: 127.0.0.1', 'Content-Type: application/json', ...headers, '', ''].join('\r\n');
}
