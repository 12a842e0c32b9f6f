import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../../src/kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../../src/kernel/errors.ts';
import type { SandboxId } from '../../../src/kernel/ids.ts';
import type { Sandbox, SandboxExit, SandboxSpec } from '../../../src/pool/ports/sandbox.ts';
import type { UploadContent } from '../../../src/pool/ports/upload-target.ts';
import type { Isolation } from '../../../src/pool/ports/template.ts';
import { InMemoryInbox } from './in-memory-inbox.ts';
import { Pipe } from './pipe.ts';
import type { Program, ProgramIo } from './program.ts';

/** The exit code by which a shell says that there is no such program. */
const NOT_FOUND = 127;

export class InMemorySandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<SandboxExit>;
  readonly #input = new Pipe();
  readonly #output = new Pipe();
  readonly #errors = new Pipe();
  readonly #ended = new AbortController();
  readonly #lifetime: Disposable;
  readonly #inbox: InMemoryInbox;
  readonly #onGone: () => void;
  readonly #tell: (exit: SandboxExit) => void;

  constructor(spec: SandboxSpec, isolation: Isolation, program: Program | undefined, clock: Clock, onGone: () => void) {
    const { command, environment, limits, mounts } = spec.template;
    this.id = spec.id;
    this.isolation = isolation;
    this.stdin = this.#input.writer;
    this.stdout = this.#output.reader;
    this.stderr = this.#errors.reader;
    this.#inbox = new InMemoryInbox(mounts, limits.diskBytes);
    this.#onGone = onGone;
    const { promise, resolve } = Promise.withResolvers<SandboxExit>();
    this.exit = promise;
    this.#tell = resolve;
    this.#lifetime = clock.after(limits.lifetimeSeconds * 1000, () => this.end({ kind: 'lifetime' }));
    void this.#run(program ?? notFound, {
      argv: command,
      environment,
      stdin: this.#input.reader,
      stdout: this.#output.writer,
      stderr: this.#errors.writer,
      signal: this.#ended.signal,
      readFile: (path) => this.#inbox.read(path),
    });
  }

  async upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return this.#inbox.receive(path, content, AbortSignal.any([signal, this.#ended.signal]));
  }

  async destroy(): Promise<void> {
    this.end({ kind: 'destroyed' });
  }

  /** Ends it by force, for the reason given, unless it has ended. Output that has not been read by then is cut off at a buffer's length. */
  end(exit: SandboxExit): void {
    if (this.#ended.signal.aborted) return;
    this.#output.close();
    this.#errors.close();
    this.#finish(exit);
  }

  /** Never rejects. */
  async #run(program: Program, io: ProgramIo): Promise<void> {
    let code = 1;
    try {
      code = await program(io);
    } catch (error) {
      io.stderr.write(`${getMessage(error)}\n`);
    }
    if (this.#ended.signal.aborted) return;
    io.stdout.end();
    io.stderr.end();
    this.#finish({ kind: 'exited', code });
  }

  #finish(exit: SandboxExit): void {
    this.#lifetime[Symbol.dispose]();
    this.#input.close();
    // A reader that is left in the middle would keep what was written to it.
    this.#input.reader.resume();
    this.#ended.abort(new InfrastructureError('sandbox.gone', 'the sandbox has ended'));
    this.#onGone();
    this.#tell(exit);
  }
}

const notFound: Program = ({ argv, stderr }) => {
  stderr.write(`${argv[0] ?? ''}: not found\n`);
  return Promise.resolve(NOT_FOUND);
};
