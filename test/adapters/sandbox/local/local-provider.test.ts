import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { LocalProvider } from '../../../../src/adapters/sandbox/local/local-provider.ts';
import type { LocalRuntime, SandboxSite } from '../../../../src/adapters/sandbox/local/local-runtime.ts';
import { ProgramInput } from '../../../../src/adapters/sandbox/local/program/program-input.ts';
import { ProgramOutput } from '../../../../src/adapters/sandbox/local/program/program-output.ts';
import type { ProgramEnd, SandboxedProgram } from '../../../../src/adapters/sandbox/local/program/sandboxed-program.ts';
import { raceWithAbort } from '../../../../src/kernel/abort.ts';
import { InfrastructureError } from '../../../../src/kernel/errors.ts';
import { parseOwnerId, parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { Sandbox } from '../../../../src/pool/ports/sandbox.ts';
import { LIMIT_NAMES, type LimitEnforcement, type SandboxTemplate } from '../../../../src/pool/ports/template.ts';
import { ImitatedCgroups } from '../../../support/imitated-cgroups.ts';
import { SkippableClock } from '../../../support/skippable-clock.ts';

const NEVER = new AbortController().signal;
const TEMPLATE: SandboxTemplate = {
  name: 'test',
  command: ['program'],
  environment: {},
  mounts: [],
  network: 'none',
  limits: { memoryBytes: 2 ** 20, processes: 4, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 },
  demands: [],
};
const BESIDE = 3;

/** A program that runs until it is killed. */
class ImitatedProgram implements SandboxedProgram {
  readonly stdin = new ProgramInput(new PassThrough());
  readonly #outputs = [new PassThrough(), new PassThrough()] as const;
  readonly stdout = new ProgramOutput(this.#outputs[0]);
  readonly stderr = new ProgramOutput(this.#outputs[1]);
  readonly #end = Promise.withResolvers<ProgramEnd>();
  readonly ended = this.#end.promise;

  kill(): void {
    for (const output of this.#outputs) output.end();
    this.#end.resolve({ kind: 'lost', detail: 'killed', wasKilled: true });
  }

  async waitUntilGone(): Promise<void> {
    await this.ended;
  }
}

/** Without walls: what the provider does with a runtime, in the order in which it does it. */
class ImitatedRuntime implements LocalRuntime {
  readonly name = 'imitated';
  readonly events: string[] = [];
  readonly base: string | undefined;
  open = (): Promise<Awaited<ReturnType<LocalRuntime['open']>>> => Promise.resolve(this.opened);
  start = (_site: SandboxSite, _signal: AbortSignal): Promise<SandboxedProgram> => Promise.resolve(new ImitatedProgram());

  /** @param base where control groups are, if there are any. */
  constructor(base?: string) {
    this.base = base;
  }

  readonly opened = {
    countHostProcesses: ({ limits }: SandboxTemplate) => limits.processes + BESIDE,
    start: async (site: SandboxSite, _template: SandboxTemplate, signal: AbortSignal) => ({ program: await this.start(site, signal) }),
    [Symbol.asyncDispose]: async () => void this.events.push('runtime closed'),
  };

  async describe() {
    const none: LimitEnforcement = { scope: 'none', by: 'none' };
    return { mechanism: 'imitated', limits: { memory: none, processes: none, cpu: none, disk: none, lifetime: none } };
  }

  async findCgroupLayout() {
    const { base } = this;
    if (base === undefined) return undefined;
    return { version: 'cgroup-v2', bases: new Map([['memory', base] as const, ['processes', base] as const]) } as const;
  }
}

class Fixture {
  readonly runtime: ImitatedRuntime;
  readonly files: ImitatedCgroups;
  readonly provider: LocalProvider;
  readonly #stateDir: string;

  private constructor(directory: string, withGroups: boolean) {
    this.#stateDir = path.join(directory, 'state');
    this.files = new ImitatedCgroups(path.join(directory, 'cgroup'), ['memory', 'pids'], []);
    this.runtime = new ImitatedRuntime(withGroups ? path.join(directory, 'cgroup', 'muster') : undefined);
    const options = { stateDir: this.#stateDir, owner: parseOwnerId('o'), clock: new SkippableClock(), cgroupFiles: this.files };
    this.provider = new LocalProvider(this.runtime, options);
  }

  /** @param isClosable whether the provider's end, with that of the test, is to succeed. */
  static async open(withGroups: boolean, isClosable = true): Promise<Fixture> {
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-local-'));
    await mkdir(path.join(directory, 'cgroup'));
    for (const [file, text] of [
      ['cgroup.procs', ''],
      ['cgroup.subtree_control', '+memory +pids'],
    ] as const)
      await writeFile(path.join(directory, 'cgroup', file), text);
    const fixture = new Fixture(directory, withGroups);
    onTestFinished(async () => {
      if (isClosable) await fixture.provider[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    });
    return fixture;
  }

  create(id = 's', signal = NEVER): Promise<Sandbox> {
    return this.provider.create({ id: parseSandboxId(id), template: TEMPLATE }, signal);
  }

  /** Control groups of the owner's sandboxes; none where there are no control groups. */
  groups(): Promise<readonly string[]> {
    return this.files.listChildren(path.join(this.files.root, 'muster', 'o'));
  }

  /** What there is in a directory beneath those of all owners; nothing when it is not there. */
  async within(...place: readonly string[]): Promise<readonly string[]> {
    const directory = path.join(this.#stateDir, 'sandboxes', ...place);
    return [...(await readdir(directory).catch((): string[] => []))].toSorted();
  }
}

it('a runtime that could not be opened leaves nothing, and is opened again for the next sandbox', async () => {
  const fixture = await Fixture.open(true);
  const { open } = fixture.runtime;
  fixture.runtime.open = () => Promise.reject(new Error('not yet'));
  await expect(fixture.create()).rejects.toMatchObject({ code: 'sandbox.create', message: expect.stringContaining('not yet') });
  expect(await fixture.within()).toEqual([]);
  expect(await fixture.files.listChildren(fixture.files.root)).toEqual([]);
  fixture.runtime.open = open;
  const sandbox = await fixture.create();
  expect(sandbox.isolation.mechanism).toBe('imitated');
  expect(Object.keys(sandbox.isolation.limits).toSorted()).toEqual([...LIMIT_NAMES].toSorted());
});

it('removes an uploaded file, and accepts it again', async () => {
  const fixture = await Fixture.open(false);
  const sandbox = await fixture.create();
  const upload = (): Promise<string> => sandbox.upload('d/f', { kind: 'stream', stream: Readable.from(['weights']) }, NEVER);
  await upload();
  await sandbox.capabilities?.remove?.('d');
  expect(await fixture.within('o', 's', 'inbox')).toEqual([]);
  await upload();
  expect(await fixture.within('o', 's', 'inbox', 'd')).toEqual(['f']);
  await expect(sandbox.capabilities?.remove?.('../inbox')).rejects.toMatchObject({ code: 'sandbox.upload' });
  expect(await fixture.within('o', 's', 'inbox', 'd')).toEqual(['f']);
});

it('a control group allows the processes that hold the program, beside the template’s own', async () => {
  const fixture = await Fixture.open(true);
  await fixture.create();
  expect(fixture.files.writes).toContain(`muster/o/s/pids.max: ${TEMPLATE.limits.processes + BESIDE}`);
});

it.each([true, false])(
  'a program that does not start leaves neither directory nor control group (control groups: %s)',
  async (withGroups) => {
    const fixture = await Fixture.open(withGroups);
    await (await fixture.create('another')).destroy();
    fixture.runtime.start = () => Promise.reject(new InfrastructureError('sandbox.start', 'no such program'));
    await expect(fixture.create()).rejects.toMatchObject({ code: 'sandbox.start', message: 'no such program' });
    expect(await fixture.within('o')).toEqual(['_etc', 'owner.json']);
    expect(await fixture.groups()).toEqual([]);
  },
);

it('a program that cannot start within the memory limit fails with that limit', async () => {
  const fixture = await Fixture.open(true);
  fixture.runtime.start = async ({ cgroup }) => {
    const [members = ''] = cgroup?.memberFiles ?? [];
    await fixture.files.write(path.join(path.dirname(members), 'memory.events'), 'oom 1\noom_kill 1\n');
    throw new InfrastructureError('sandbox.start', 'ended (exit code 137)');
  };
  const message = 'ended (exit code 137); the memory limit of 1048576 bytes (1.0 MiB) ended what was to start it; raise limits.memoryBytes';
  await expect(fixture.create()).rejects.toMatchObject({ code: 'sandbox.start', message });
});

it('closing the provider waits for creations, then ends runtime and sandboxes, and removes the record last', async () => {
  const fixture = await Fixture.open(true);
  const { runtime, provider } = fixture;
  const { events } = runtime;
  const running = await fixture.create('running');
  void running.exit.then(({ kind }) => events.push(`running ${kind}`));
  const starting = Promise.withResolvers<void>();
  runtime.start = async (_site, signal) => {
    starting.resolve();
    return await raceWithAbort(new Promise<never>(() => {}), signal);
  };
  const creation = fixture.create('starting').catch((error: unknown) => events.push(`starting: ${String(error)}`));
  await starting.promise;
  const remove = fixture.files.removeDirectory.bind(fixture.files);
  fixture.files.removeDirectory = async (group) => {
    await remove(group);
    events.push(`${path.relative(fixture.files.root, group)} removed with ${(await fixture.within()).join()} on record`);
  };
  await Promise.all([provider[Symbol.asyncDispose](), provider[Symbol.asyncDispose](), creation]);
  expect(events).toEqual([
    'muster/o/starting removed with o on record',
    'starting: InfrastructureError: the sandbox provider has been closed',
    'runtime closed',
    'muster/o/running removed with o on record',
    'running destroyed',
    'muster/o removed with o on record',
    'muster removed with o on record',
  ]);
  expect(await fixture.within()).toEqual([]);
  await expect(fixture.create()).rejects.toHaveProperty('code', 'sandbox.provider-closed');
});

it('a sandbox that cannot be removed stays on record for a sweep', async () => {
  const fixture = await Fixture.open(false, false);
  const program = new ImitatedProgram();
  program.waitUntilGone = () => Promise.reject(new InfrastructureError('sandbox.stuck', 'they still run'));
  fixture.runtime.start = () => Promise.resolve(program);
  await fixture.create();
  await expect(fixture.provider[Symbol.asyncDispose]()).rejects.toHaveProperty('code', 'sandbox.stuck');
  expect(await fixture.within('o')).toEqual(['_etc', 'owner.json', 's']);
});

it('a runtime that cannot share reports it for every content', async () => {
  const fixture = await Fixture.open(false);
  using sharing = await fixture.provider.share(TEMPLATE, [], 'somebody', NEVER);
  expect(sharing).toMatchObject({ digests: [], isOn: false });
});
