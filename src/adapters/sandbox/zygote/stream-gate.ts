import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { z } from 'zod';
import { InfrastructureError } from '../../../kernel/errors.ts';

const SOCKET = '_warden.sock';
/** A token in hexadecimal, a space, the name of the stream. */
const GREETING_MAX_BYTES = 64 + 8;
/** Connections that have not identified themselves yet. Legitimate ones do so at once. */
const MAX_UNIDENTIFIED = 8192;

const streamSchema = z.enum(['stdin', 'stdout', 'stderr']);
export type StreamName = z.infer<typeof streamSchema>;
export type ProgramStreams = Readonly<Record<StreamName, Socket>>;

/** The right of one sandbox to connect its three streams, once each. */
export interface Admission extends Disposable {
  /** Known to the warden only, never to the program. */
  readonly token: string;
  /** Resolves when all three are connected. Disposing the admission before ends those that are. */
  readonly streams: Promise<ProgramStreams>;
}

/**
 * Accepts the streams of forked programs on a Unix socket in the owner's directory, which the warden sees and programs do not.
 *
 * A connection identifies its stream with a one-time token. Any other connection is closed.
 */
export class StreamGate implements AsyncDisposable {
  readonly #server: Server;
  readonly #directory: FileHandle;
  readonly #expected = new Map<string, (name: StreamName, socket: Socket) => void>();
  readonly #unidentified = new Set<Socket>();

  readonly #maxUnidentified: number;

  private constructor(server: Server, directory: FileHandle, maxUnidentified: number) {
    this.#server = server;
    this.#directory = directory;
    this.#maxUnidentified = maxUnidentified;
    server.on('connection', (socket) => this.#readGreeting(socket));
  }

  /** @param directory of the owner; no other user may read it. @param maxUnidentified most connections that may be unidentified at a time. */
  static async open(directory: string, maxUnidentified = MAX_UNIDENTIFIED): Promise<StreamGate> {
    // A socket's path has at most 107 bytes, and the owner's directory may be longer.
    const handle = await open(directory, 'r');
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: false });
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ path: `/proc/self/fd/${handle.fd}/${SOCKET}`, backlog: 4096 }, resolve);
      });
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new StreamGate(server, handle, maxUnidentified);
  }

  expect(): Admission {
    const token = randomBytes(32).toString('hex');
    const { promise, resolve, reject } = Promise.withResolvers<ProgramStreams>();
    promise.catch(() => {});
    const arrived: Partial<Record<StreamName, Socket>> = {};
    this.#expected.set(token, (name, socket) => {
      if (arrived[name]) return void socket.destroy();
      arrived[name] = socket;
      const { stdin, stdout, stderr } = arrived;
      if (!stdin || !stdout || !stderr) return;
      this.#expected.delete(token);
      resolve({ stdin, stdout, stderr });
    });
    const revoke = (): void => {
      if (!this.#expected.delete(token)) return;
      for (const socket of Object.values(arrived)) socket.destroy();
      reject(new InfrastructureError('sandbox.gone', 'the sandbox ended before its program began'));
    };
    return { token, streams: promise, [Symbol.dispose]: revoke };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#unidentified) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#directory.close();
  }

  /** The greeting is taken off the stream; what follows it is the program's. */
  #readGreeting(socket: Socket): void {
    this.#makeRoom();
    this.#unidentified.add(socket);
    socket.on('error', () => {});
    const forget = (): void => void this.#unidentified.delete(socket);
    // A peer that only ends its side would otherwise stay half open forever.
    const leave = (): void => void socket.destroy();
    socket.once('close', forget);
    socket.once('end', leave);
    let seen = Buffer.alloc(0);
    const read = (): void => {
      const chunk: unknown = socket.read();
      if (!Buffer.isBuffer(chunk)) return;
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf('\n');
      if (end < 0 && seen.length < GREETING_MAX_BYTES) return;
      socket.off('readable', read);
      socket.off('close', forget);
      socket.off('end', leave);
      forget();
      if (end < 0) return void socket.destroy();
      if (seen.length > end + 1) socket.unshift(seen.subarray(end + 1));
      this.#admit(seen.toString('latin1', 0, end), socket);
    };
    socket.on('readable', read);
  }

  /** Closes the one that has waited longest: legitimate ones have identified themselves long before. */
  #makeRoom(): void {
    if (this.#unidentified.size < this.#maxUnidentified) return;
    for (const oldest of this.#unidentified) {
      this.#unidentified.delete(oldest);
      oldest.destroy();
      return;
    }
  }

  #admit(greeting: string, socket: Socket): void {
    const [token = '', stream] = greeting.split(' ');
    const name = streamSchema.safeParse(stream);
    const admit = this.#expected.get(token);
    if (!admit || !name.success) socket.destroy();
    else admit(name.data, socket);
  }
}
