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
import type { ExpectedFailures } from './expected-failure.ts';
import { DISK_BOMB, FORK_BOMB, MEMORY_BOMB, PROCESS_COUNT, PROCESSOR_TIME, TREE_MEMORY, USAGE } from './limit-failures.ts';
import { type SandboxContext, sandboxProviderContract, type SandboxProviderSubject } from './sandbox-provider.ts';
import { NEVER } from './sandbox-fixture.ts';

const NO_PROCESSES = 'no processes in memory';
const NO_PYTHON = 'no Python in memory';

const SUBJECT: SandboxProviderSubject = { commands: commands(), mounts: [], open: () => Promise.resolve(new InMemoryContext()) };

it('an adapter that excludes an unknown scenario is refused', () => {
  expect(() => sandboxProviderContract('any', SUBJECT, { 'no such scenario': { reason: 'typing error', error: /./ } })).toThrow(
    'no such scenario',
  );
});

sandboxProviderContract('the in-memory provider', SUBJECT, {
  'a large upload passes in bounded memory': { reason: 'uploads are kept in memory', error: /expected \d+ to be less than 25165824/ },
  'a template with an impossible limit is refused before anything is made': {
    reason: 'nothing limits a function',
    error: /promise resolved .* instead of rejecting/,
  },
  ...withoutMachine('a function in this process has no walls', NO_PYTHON, [
    'an uploaded file cannot be changed from inside',
    'two sandboxes see nothing of each other',
    'the network is out of reach, the host’s loopback included',
    'the host’s abstract sockets are out of reach',
    'nothing can be written but in /tmp and /dev/shm',
    'only what the template mounts is to be seen',
    'what the template mounts in /tmp is there, and cannot be written',
    'Muster’s environment is not inherited by any process inside',
    'the program has no capability, no way to gain any, and is not root',
    'no file descriptor of Muster’s is inherited',
  ]),
  ...withoutMachine('there are no processes', NO_PROCESSES, [
    'a lifetime that passes leaves no descendant',
    'destroy leaves no descendant',
  ]),
  ...withoutMachine('there are no processes', NO_PYTHON, ['a program that ends leaves no descendant', FORK_BOMB, PROCESS_COUNT]),
  ...withoutMachine('nothing limits a function', NO_PYTHON, [MEMORY_BOMB, TREE_MEMORY, DISK_BOMB, PROCESSOR_TIME, USAGE]),
});

/** What its commands cannot even say. */
function withoutMachine(reason: string, missing: string, titles: readonly string[]): ExpectedFailures {
  return Object.fromEntries(titles.map((title) => [title, { reason, error: new RegExp(`^${missing}$`) }]));
}

class InMemoryContext implements SandboxContext {
  readonly clock = new SkippableClock();
  readonly hiddenPaths: readonly string[] = [];
  readonly #world = new InMemoryWorld();
  readonly #owners: OwnerId[] = [];

  provider(): ReturnType<SandboxContext['provider']> {
    const owner = parseOwnerId(`owner-${this.#owners.length}`);
    this.#owners.push(owner);
    return createInMemoryProvider({ owner, clock: this.clock, programs: PROGRAMS, world: this.#world });
  }

  async traces(): Promise<readonly string[]> {
    return this.#owners.flatMap((owner) => this.#world.getSandboxes(owner).map(({ id }) => `${owner}/${id}`));
  }

  async killFromOutside(...[{ owner }, id]: Parameters<SandboxContext['killFromOutside']>): Promise<void> {
    this.#world.lose(owner, id);
  }

  async crashedOwner(lines: Parameters<SandboxContext['crashedOwner']>[0]): ReturnType<SandboxContext['crashedOwner']> {
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
      throw new Error(NO_PROCESSES);
    },
    python: () => {
      throw new Error(NO_PYTHON);
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
