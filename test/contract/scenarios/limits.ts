/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { expect } from 'vitest';
import { InputError } from '../../../src/kernel/errors.ts';
import { LIMIT_NAMES } from '../../../src/pool/ports/template.ts';
import type { Sandbox } from '../../../src/pool/ports/sandbox.ts';
import type { Scenario } from '../sandbox-provider.ts';
import { exchange, firstLine, NEVER, type SandboxFixture } from '../sandbox-fixture.ts';
import { extent } from '../../support/full-form.ts';

const MEBIBYTE = 2 ** 20;
/** Of the sandbox that is held to its processor time. */
const CPUS = 0.05;

/** For every line: lets 8 processes use what they get of the processors, and says how many processors that was. */
const SPIN = `
import os, resource, time
def used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime
while input() == 'spin':
    begin, before = time.monotonic(), used()
    for _ in range(8):
        if os.fork() == 0:
            while time.monotonic() - begin < 0.6: pass
            os._exit(0)
    for _ in range(8): os.wait()
    print((used() - before) / (time.monotonic() - begin), flush=True)
`;

/** Processors that one round of SPIN had on average, by who charges for them where the context says it, and otherwise by its own account. */
async function shareInRound({ context, provider }: SandboxFixture, sandbox: Sandbox): Promise<number> {
  const charged = async (): Promise<number | undefined> => context.processorSeconds?.(provider, sandbox.id);
  // Read before the program is ordered to begin: it may be over by the time that this process learns of its beginning.
  const [before, begin] = [await charged(), performance.now()];
  sandbox.stdin.write('spin\n');
  const reported = Number(await firstLine(sandbox));
  const [after, end] = [await charged(), performance.now()];
  // Time inside is what the kernel has charged; time outside is the kernel's clock: their ratio is the share, on any machine.
  return before === undefined || after === undefined ? reported : (after - before) / ((end - begin) / 1000);
}

/** Limits that hold for the whole process tree, and hosts that do not notice when they are reached. */
export const limitScenarios: Readonly<Record<string, Scenario>> = {
  'every limit is described, and a limit that cannot be enforced cannot be demanded': async (fixture) => {
    const { limits } = await fixture.provider.describe(fixture.template(fixture.commands.exit(0)));
    for (const limit of LIMIT_NAMES) {
      const demand = fixture.provider.describe(fixture.template(fixture.commands.exit(0), {}, [limit]));
      if (limits[limit].scope === 'tree') await demand;
      else {
        await expect(demand).rejects.toThrow(InputError);
        await expect(demand).rejects.toHaveProperty('code', 'template.limit-unavailable');
      }
    }
  },

  'a sandbox carries the isolation that was described': async (fixture) => {
    const template = fixture.template(fixture.commands.exit(0));
    const sandbox = await fixture.create(template.command);
    expect(sandbox.isolation).toEqual(await fixture.provider.describe(template));
  },

  'a fork bomb is bounded, and the host unaffected': (fixture) =>
    fixture.withUnaffectedNeighbour(async () => {
      const bomb = await fixture.create(
        fixture.commands.python(`
import os, signal
children = 0
while children < 64:
    try:
        if os.fork() == 0:
            os.execvp('sh', ['sh', '-c', 'while :; do sleep 1000 || :; done', '${fixture.marker}'])
    except OSError:
        break
    children += 1
print(children, flush=True)
signal.pause()
`),
        { processes: 16 },
      );
      expect(Number(await firstLine(bomb))).toBeLessThanOrEqual(15);
      expect((await fixture.markedProcesses()).length).toBeLessThanOrEqual(15);
      await bomb.destroy();
      // Until then it ran: being refused a process ends no sandbox.
      expect(await bomb.exit).toEqual({ kind: 'destroyed' });
    }),

  'the template’s number of processes is what the program gets': async (fixture) => {
    const printed = await fixture.python(
      `
import os, signal
children = []
try:
    while len(children) < 64:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    pass
print(len(children) + 1)
`,
      { processes: 8 },
    );
    expect(printed).toBe('8');
  },

  'a memory bomb is ended as out of memory, and the host unaffected': (fixture) =>
    fixture.withUnaffectedNeighbour(async () => {
      const { exit } = await fixture.run(fixture.commands.python('x = [bytearray(b"x") * 2**20 for _ in range(4096)]'), {
        memoryBytes: 64 * MEBIBYTE,
      });
      expect(exit).toEqual({ kind: 'out-of-memory' });
    }),

  'the memory of the whole tree counts': (fixture) =>
    fixture.withUnaffectedNeighbour(async () => {
      const source = `
import os, signal
children = []
for _ in range(4):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        x = bytearray(b"x") * (24 * 2**20)
        os.write(tell, b"x")
        signal.pause()
    os.close(tell)
    os.read(ready, 1)
    children.append(child)
for child in children: os.kill(child, signal.SIGTERM)
print(max(-os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9 for child in children))
`;
      // Four children of 24 MiB do not fit. The kernel ends one of them; the program itself goes on.
      expect(await fixture.python(source, { memoryBytes: 72 * MEBIBYTE })).toBe('True');
    }),

  'a disk bomb is bounded, and the host unaffected': (fixture) =>
    fixture.withUnaffectedNeighbour(async () => {
      const disk = 16 * MEBIBYTE;
      const printed = await fixture.python(
        `
import errno, os
block, written, errors = bytes(2**16), 0, []
for directory in ('/tmp', '/dev/shm'):
    try:
        with open(directory + '/bomb', 'wb', buffering=0) as file:
            while written < 2**30:
                written += file.write(block)
    except OSError as error:
        errors.append(errno.errorcode[error.errno])
print(written, *errors)
`,
        { diskBytes: disk },
      );
      const [written, ...errors] = printed.split(' ');
      expect(errors).toEqual(['ENOSPC', 'ENOSPC']);
      expect(Number(written)).toBeLessThanOrEqual(disk);
      expect(Number(written)).toBeGreaterThan(disk / 2);
    }),

  // A limit so low that even on a busy machine some round stays below twice of it.
  'the processor time of the whole tree is limited': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.python(SPIN), { cpus: CPUS });
    for (let round = 0; round < extent({ short: 1, full: 3 }); round++) {
      const share = await shareInRound(fixture, sandbox);
      expect(share).toBeGreaterThan(0);
      expect(share).toBeLessThan(2 * CPUS);
    }
    await sandbox.destroy();
  },

  'the usage of a sandbox is reported, while it runs and after its end': async (fixture) => {
    const neighbour = await fixture.create(fixture.commands.echo());
    // So much work as no processor does in less than 0.07 s. Not so much time: gVisor's goes on while the host withholds the processor.
    const sandbox = await fixture.create(
      fixture.commands.python(`
import os, signal
for _ in range(3):
    if os.fork() == 0: signal.pause()
x = bytearray(b'x') * (32 * 2**20)
for _ in range(10**7): pass
print('used', flush=True)
input()
`),
    );
    await exchange(neighbour, 'up\n');
    expect(await firstLine(sandbox)).toBe('used\n');
    const during = await sandbox.capabilities?.usage?.();
    expect(during).toEqual({ cpuSeconds: expect.any(Number), peakMemoryBytes: expect.any(Number), processes: expect.any(Number) });
    expect(during?.cpuSeconds).toBeGreaterThanOrEqual(0.07);
    expect(during?.peakMemoryBytes).toBeGreaterThan(32 * MEBIBYTE);
    expect(during?.processes).toBeGreaterThanOrEqual(4);
    expect((await neighbour.capabilities?.usage?.())?.peakMemoryBytes).toBeLessThan(during?.peakMemoryBytes ?? 0);
    expect((await neighbour.capabilities?.usage?.())?.cpuSeconds).toBeLessThan(during?.cpuSeconds ?? 0);
    sandbox.stdin.end('\n');
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
    const after = await sandbox.capabilities?.usage?.();
    expect(after?.cpuSeconds).toBeGreaterThanOrEqual(during?.cpuSeconds ?? Infinity);
    expect(after?.peakMemoryBytes).toBeGreaterThanOrEqual(during?.peakMemoryBytes ?? Infinity);
  },

  'a template with an impossible limit is refused before anything is made': async (fixture) => {
    for (const limits of [{ memoryBytes: 0 }, { processes: 0 }, { cpus: Number.NaN }, { diskBytes: 1 }, { lifetimeSeconds: -1 }]) {
      await expect(fixture.provider.describe(fixture.template(fixture.commands.exit(0), limits))).rejects.toThrow(InputError);
      await expect(fixture.create(fixture.commands.exit(0), limits)).rejects.toHaveProperty('code', 'template.invalid');
    }
    expect(await fixture.provider.sweep(NEVER)).toEqual([]);
  },
};
