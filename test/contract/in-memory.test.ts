import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createInMemoryProvider } from '../support/in-memory-sandbox/in-memory-provider.ts';
import { InMemoryWorld } from '../support/in-memory-sandbox/in-memory-world.ts';
import type { Program, ProgramIo } from '../support/in-memory-sandbox/program.ts';
import { type OwnerId, parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { type SandboxGround, sandboxProviderContract, type SandboxProviderSubject } from './sandbox-provider.ts';
import { NEVER } from './sandbox-scene.ts';

const NO_WALLS = 'a function in this process has no walls';
const NO_PROCESSES = 'there are no processes';
const NO_LIMITS = 'nothing limits a function';

const SUBJECT: SandboxProviderSubject = { commands: commands(), mounts: [], open: () => Promise.resolve(new InMemoryGround()) };

it('an adapter that skips a scenario that does not exist is told so', () => {
  expect(() => sandboxProviderContract('any', SUBJECT, { 'no such scenario': 'typing error' })).toThrow('no such scenario');
});

sandboxProviderContract('the in-memory provider', SUBJECT, {
  'an upload of 64 MB passes in bounded memory': 'uploads are kept in memory',
  'an uploaded file cannot be changed from inside': NO_WALLS,
  'a lifetime that passes leaves no descendant': NO_PROCESSES,
  'destroy leaves no descendant': NO_PROCESSES,
  'a program that ends leaves no descendant': NO_PROCESSES,
  'two sandboxes see nothing of each other': NO_WALLS,
  'the network is out of reach, the host’s loopback included': NO_WALLS,
  'the host’s abstract sockets are out of reach': NO_WALLS,
  'nothing can be written but in /tmp and /dev/shm': NO_WALLS,
  'only what the template mounts is to be seen': NO_WALLS,
  'what the template mounts in /tmp is there, and cannot be written': 'nothing is mounted',
  'Muster’s environment is not inherited by any process inside': NO_WALLS,
  'the program has no capability, no way to gain any, and is not root': NO_WALLS,
  'no file descriptor of Muster’s is inherited': NO_WALLS,
  'a fork bomb is bounded, and the host unaffected': NO_PROCESSES,
  'the template’s number of processes is what the program gets': NO_PROCESSES,
  'a memory bomb is ended as out of memory, and the host unaffected': NO_LIMITS,
  'the memory of the whole tree counts': NO_LIMITS,
  'a disk bomb is bounded, and the host unaffected': NO_LIMITS,
  'the processor time of the whole tree is limited': NO_LIMITS,
  'what a sandbox has used is told, while it runs and after its end': 'nobody counts what a function uses',
  'a template with an impossible limit is refused before anything is made': NO_LIMITS,
});

class InMemoryGround implements SandboxGround {
  readonly clock = new SkippableClock();
  readonly hiddenPaths: readonly string[] = [];
  readonly #world = new InMemoryWorld();
  readonly #owners: OwnerId[] = [];

  provider(): ReturnType<SandboxGround['provider']> {
    const owner = parseOwnerId(`owner-${this.#owners.length}`);
    this.#owners.push(owner);
    return createInMemoryProvider({ owner, clock: this.clock, programs: PROGRAMS, world: this.#world });
  }

  async traces(): Promise<readonly string[]> {
    return this.#owners.flatMap((owner) => this.#world.sandboxesOf(owner).map(({ id }) => `${owner}/${id}`));
  }

  async killFromOutside(...[{ owner }, id]: Parameters<SandboxGround['killFromOutside']>): Promise<void> {
    this.#world.lose(owner, id);
  }

  async crashedOwner(lines: Parameters<SandboxGround['crashedOwner']>[0]): ReturnType<SandboxGround['crashedOwner']> {
    const provider = this.provider();
    const limits = { memoryBytes: 1, processes: 1, cpus: 1, diskBytes: 1, lifetimeSeconds: 3600 };
    const ids = lines.map((_, i) => parseSandboxId(`crashed-${i}`));
    for (const [i, id] of ids.entries()) {
      const template = {
        name: 'crashed',
        command: lines[i] ?? [],
        environment: {},
        mounts: [],
        network: 'none',
        limits,
        demands: [],
      } as const;
      await provider.create({ id, template }, NEVER);
    }
    this.#world.crash(provider.owner);
    return ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function commands(): SandboxProviderSubject['commands'] {
  return {
    exit: (code) => ['exit', String(code)],
    dieBy: (signal) => ['exit', String(128 + signal)],
    echo: () => ['echo'],
    emit: (bytes) => ['emit', String(bytes)],
    emitCounting: (chunks) => ['emit-counting', String(chunks)],
    idle: () => ['idle'],
    hashFiles: () => ['hash-files'],
    family: () => {
      throw new Error('no processes in memory');
    },
    python: () => {
      throw new Error('no Python in memory');
    },
  };
}

const CHUNK = Buffer.alloc(16_384, 'y\n');

async function write({ stdout, signal }: ProgramIo, chunk: Uint8Array | string): Promise<void> {
  if (!stdout.write(chunk)) await once(stdout, 'drain', { signal });
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  exit: ({ argv }) => Promise.resolve(Number(argv[1])),
  async echo(io) {
    for await (const chunk of io.stdin) await write(io, chunk);
    io.stdout.write('bye\n');
    return 0;
  },
  async emit(io) {
    for (let left = Number(io.argv[1]); left > 0; left -= CHUNK.length) await write(io, CHUNK.subarray(0, left));
    return 0;
  },
  async 'emit-counting'(io) {
    for (let i = 1; i <= Number(io.argv[1]); i += 1) {
      await write(io, CHUNK);
      io.stderr.write(`${i}\n`);
      await turn();
    }
    return 0;
  },
  async idle({ stdout, signal }) {
    stdout.write('ready\n');
    await once(signal, 'abort');
    return 0;
  },
  async 'hash-files'(io) {
    for await (const path of createInterface({ input: io.stdin })) {
      const line = await io.readFile(path).then(
        (bytes) => createHash('sha256').update(bytes).digest('hex'),
        () => 'unreadable',
      );
      io.stdout.write(`${line}\n`);
    }
    return 0;
  },
};
