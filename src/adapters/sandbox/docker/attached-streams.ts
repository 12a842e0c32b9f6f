import { Readable, type Duplex } from 'node:stream';
import { ProgramInput } from '../local/program/program-input.ts';

/** The header before each piece of output has this length: the stream's number, three zeros, and the length of the piece. */
const HEADER_BYTES = 8;
const LENGTH_AT = 4;
const STDERR = 2;

/** One output stream of a container's program. */
class ContainerOutput extends Readable {
  readonly #resume: () => void;
  /** Whether its reader is behind. */
  isFull = false;

  constructor(resume: () => void) {
    super();
    this.#resume = resume;
  }

  receive(piece: Buffer): void {
    if (!this.destroyed && !this.push(piece)) this.isFull = true;
  }

  override _read(): void {
    this.isFull = false;
    this.#resume();
  }
}

/**
 * A program's three streams over one connection to the daemon, which ends when the program has. Unread output stops the connection, and so in the end
 * the program.
 */
export class AttachedStreams {
  readonly stdin: ProgramInput;
  readonly stdout: ContainerOutput;
  readonly stderr: ContainerOutput;
  /** Resolves when the last byte has arrived and can be read. */
  readonly complete: Promise<void>;
  readonly #connection: Duplex;
  #header = Buffer.alloc(0);
  /** The stream of the piece that is arriving. */
  #current: ContainerOutput;
  #left = 0;
  #isDraining = false;

  constructor(connection: Duplex) {
    const resume = (): void => this.#resume();
    this.#connection = connection;
    this.stdin = new ProgramInput(connection);
    this.stdout = new ContainerOutput(resume);
    this.stderr = new ContainerOutput(resume);
    this.#current = this.stdout;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.complete = promise;
    connection.on('data', (chunk: Buffer) => this.#onData(chunk));
    connection.once('close', () => {
      for (const output of [this.stdout, this.stderr]) output.push(null);
      resolve();
    });
    // A server that closes its half has sent everything.
    connection.once('end', () => connection.destroy());
  }

  /** Reads the rest after the program's end, without waiting for a reader. The rest is at most what the daemon buffers, about a megabyte. */
  drain(): void {
    this.#isDraining = true;
    this.#connection.resume();
  }

  /** Ends the connection, whatever has not arrived yet. */
  close(): void {
    this.#connection.destroy();
  }

  #resume(): void {
    if (this.#isDraining || !(this.stdout.isFull || this.stderr.isFull)) this.#connection.resume();
  }

  #onData(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#left > 0 ? this.#takePiece(rest) : this.#takeHeader(rest);
    if (!this.#isDraining && (this.stdout.isFull || this.stderr.isFull)) this.#connection.pause();
  }

  #takePiece(chunk: Buffer): Buffer {
    const piece = chunk.subarray(0, this.#left);
    this.#left -= piece.length;
    this.#current.receive(piece);
    return chunk.subarray(piece.length);
  }

  #takeHeader(chunk: Buffer): Buffer {
    const missing = HEADER_BYTES - this.#header.length;
    this.#header = Buffer.concat([this.#header, chunk.subarray(0, missing)]);
    if (this.#header.length === HEADER_BYTES) {
      this.#current = this.#header[0] === STDERR ? this.stderr : this.stdout;
      this.#left = this.#header.readUInt32BE(LENGTH_AT);
      this.#header = Buffer.alloc(0);
    }
    return chunk.subarray(missing);
  }
}
