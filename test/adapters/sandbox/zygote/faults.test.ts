import { readdir } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listProcesses } from '../../../support/process-table.ts';
import { InfrastructureError } from '../../../../src/kernel/errors.ts';
import type { Sandbox } from '../../../../src/pool/ports/sandbox.ts';
import { AttackFixture, ECHO, Neighbour, PYTHON } from '../../../attacks/attack-fixture.ts';
import { OwnModules } from '../../../attacks/own-modules.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { extent, sampled } from '../../../support/full-form.ts';
import { failOnLeftoverProcesses } from '../../../support/no-leftovers.ts';
import { zygoteProcesses, type ZygoteProcesses } from '../../../support/zygote-processes.ts';

const KILL_DEADLINE_MS = 10_000;
/** Sandboxes of a Muster that is killed. */
const ORPHANS = extent({ short: 20, full: 100 });

failOnLeftoverProcesses();
let fixture: AttackFixture;
beforeEach(async () => {
  fixture = await AttackFixture.open();
});
afterEach(() => fixture[Symbol.asyncDispose]());

async function three(): Promise<readonly Sandbox[]> {
  const sandboxes = await Promise.all([1, 2, 3].map(() => fixture.create(ECHO)));
  for (const sandbox of sandboxes) await new Neighbour(sandbox).answers();
  return sandboxes;
}

async function aNewOneWorks(): Promise<void> {
  expect(await outcomeOf(fixture.create(ECHO))).toBe('works');
}

/** Aborts a creation once the zygote has been asked for it, and has ten seconds pass. Before that nothing has to be taken back. */
async function abortOnItsWay(): Promise<void> {
  const { clock } = fixture.context;
  const timers = clock.pending;
  for (let turns = 20; ; turns *= 2) {
    const enough = new AbortController();
    let isOver = false;
    const creation = fixture.create(ECHO, {}, enough.signal).catch((error: unknown) => error);
    void creation.finally(() => (isOver = true));
    for (let i = 0; i < turns; i += 1) await turn();
    enough.abort(new Error('that took too long'));
    await eventually('it is over, or has to be taken back', () => isOver || clock.pending > timers);
    if (isOver) continue;
    clock.skip(KILL_DEADLINE_MS);
    expect(await creation).toHaveProperty('message', 'that took too long');
    return;
  }
}

/** `works`, or the code of the infrastructure error that it failed with. */
async function outcomeOf(creation: Promise<Sandbox>): Promise<string> {
  try {
    const sandbox = await creation;
    await new Neighbour(sandbox).answers();
    await sandbox.destroy();
    return 'works';
  } catch (error) {
    if (error instanceof InfrastructureError) return error.code;
    throw error;
  }
}

describe('a zygote that dies', () => {
  const killed: readonly (readonly [string, keyof ZygoteProcesses])[] = [
    ['the warden', 'warden'],
    ['what the programs are forked from', 'image'],
    ['the bubblewrap that holds them', 'bubblewrap'],
  ];
  it.each(sampled(killed, ([, which]) => which === 'image'))(
    '(%s, by SIGKILL) takes its sandboxes with it, which are lost; the next one has a zygote of its own',
    async (_, which) => {
      const sandboxes = await three();
      const before = await zygoteProcesses(fixture.context.stateDir);
      process.kill(before[which], 'SIGKILL');
      for (const { exit } of sandboxes) expect(await exit).toMatchObject({ kind: 'lost', detail: expect.stringContaining('zygote') });
      // Until it is known to be gone it is still asked.
      const outcomes = new Set<string>();
      await eventually('a new zygote is there', async () => outcomes.add(await outcomeOf(fixture.create(ECHO))).has('works'));
      expect(new Set(['sandbox.zygote', 'works'])).toEqual(outcomes.add('sandbox.zygote'));
      expect(await zygoteProcesses(fixture.context.stateDir)).not.toEqual(before);
      expect(await fixture.context.traces()).toEqual([]);
    },
  );

  it('while sandboxes are being made fails their creation as infrastructure, unless they can wait for its successor', async () => {
    await aNewOneWorks();
    const { warden } = await zygoteProcesses(fixture.context.stateDir);
    process.kill(warden, 'SIGSTOP');
    const outcomes = Promise.all([1, 2, 3].map(() => outcomeOf(fixture.create(ECHO))));
    for (let i = 0; i < 100; i += 1) await turn();
    process.kill(warden, 'SIGKILL');
    for (const outcome of await outcomes) expect(outcome).toMatch(/^(sandbox\.zygote|works)$/);
    await aNewOneWorks();
  });
});

describe('a zygote that hangs', () => {
  it.each(sampled(['warden', 'image'] as const, (which) => which === 'warden'))(
    '(the %s, by SIGSTOP) holds a creation up no longer than its signal and ten seconds',
    async (which) => {
      const sandboxes = await three();
      process.kill((await zygoteProcesses(fixture.context.stateDir))[which], 'SIGSTOP');
      await abortOnItsWay();
      for (const { exit } of sandboxes) {
        expect(await exit).toMatchObject({ kind: 'lost', detail: expect.stringContaining('did not end a sandbox within 10 s') });
      }
      await aNewOneWorks();
    },
  );

  it('delays the destruction of its sandboxes by ten seconds at most', async () => {
    const [first] = await three();
    process.kill((await zygoteProcesses(fixture.context.stateDir)).warden, 'SIGSTOP');
    const { clock } = fixture.context;
    const timers = clock.pending;
    const destruction = first?.destroy();
    await eventually('the deadline runs', () => clock.pending > timers);
    clock.skip(KILL_DEADLINE_MS);
    await destruction;
    expect(await first?.exit).toEqual({ kind: 'destroyed' });
    await aNewOneWorks();
  });

  it('does not delay closing the provider', async () => {
    const sandboxes = await three();
    process.kill((await zygoteProcesses(fixture.context.stateDir)).warden, 'SIGSTOP');
    await fixture.provider[Symbol.asyncDispose]();
    for (const { exit } of sandboxes) expect(await exit).toEqual({ kind: 'destroyed' });
  });
});

describe('a zygote that cannot import what it should', () => {
  let modules: OwnModules;
  beforeEach(async () => {
    modules = await OwnModules.open();
  });
  afterEach(() => modules[Symbol.asyncDispose]());

  const toMend = { kind: 'input', code: 'python.unusable' };
  const passing = { kind: 'infrastructure', code: 'sandbox.zygote' };
  const sources: readonly (readonly [string, string, RegExp, object])[] = [
    ['is not there', 'import no_such_module', /ModuleNotFoundError: No module named 'no_such_module'/, toMend],
    ['raises', "raise ValueError('not on this machine')", /ValueError: not on this machine/, toMend],
    ['is no Python', 'def', /SyntaxError/, toMend],
    ['is short of memory', 'raise MemoryError', /MemoryError/, passing],
    ['misses a file, which may come', "open('/tmp/no-such-file')", /FileNotFoundError/, passing],
    ['exits', "import sys; sys.exit('I leave')", /SystemExit: I leave/, passing],
    ['ends the process, after it has said why', "import os; os.write(2, b'for a reason'); os._exit(3)", /it ended.*for a reason/, passing],
    ['kills the process', 'import os; os.kill(os.getpid(), 9)', /it ended/, passing],
  ];
  const isInShortForm = ([what]: readonly [string, ...unknown[]]): boolean =>
    ['raises', 'misses a file, which may come', 'kills the process'].includes(what);
  it.each(sampled(sources, isInShortForm))(
    'because a module %s: tells every waiter the reason, and whether it is permanent',
    async (_, source, message, expected) => {
      const imported = await modules.importing(source);
      for (const creation of await Promise.allSettled([1, 2].map(() => fixture.create(ECHO, imported)))) {
        const error: unknown = creation.status === 'rejected' ? creation.reason : creation.value;
        expect(error).toMatchObject({ ...expected, message: expect.stringMatching(message) });
      }
      await aNewOneWorks();
    },
  );

  it('in time: delays a creation no longer than its signal', async () => {
    const imported = await modules.importing('import time; time.sleep(1000)');
    const enough = new AbortController();
    const creation = fixture.create(ECHO, imported, enough.signal).catch((error: unknown) => error);
    await eventually('it imports', () => zygoteProcesses(fixture.context.stateDir).then(Boolean, () => false));
    enough.abort(new Error('that took too long'));
    expect(await creation).toHaveProperty('message', 'that took too long');
    expect(await fixture.context.traces()).toEqual([]);
  });
});

describe('a command that is longer than a zygote takes', () => {
  it('fails only its own creation', async () => {
    const [neighbour] = await three();
    const creation = fixture.create(['sh', '-c', `: ${'x'.repeat(100_000)}`]);
    await expect(creation).rejects.toMatchObject({ code: 'sandbox.start', message: expect.stringContaining('its command is too long') });
    if (neighbour) await new Neighbour(neighbour).answers();
    await aNewOneWorks();
  });
});

describe('a program that cannot be compiled', () => {
  const sources: readonly (readonly [string, string, string])[] = [
    ['no Python', 'def', 'SyntaxError'],
    ['no text', '\0', 'null bytes'],
    ['not what it says', '# -*- coding: nonsense -*-', 'SyntaxError'],
  ];
  it.each(sampled(sources, ([what]) => what === 'not what it says'))(
    'because it is %s fails in its own sandbox, as it would anywhere',
    async (_, source, error) => {
      const [neighbour] = await three();
      await using modules = await OwnModules.open();
      const { mounts } = await modules.importing(source);
      const sandbox = await fixture.create([PYTHON, '-I', '/runner/own.py'], { mounts });
      const [said, exit] = await Promise.all([text(sandbox.stderr), sandbox.exit]);
      expect(exit).toEqual({ kind: 'exited', code: 1 });
      expect(said).toContain(error);
      if (neighbour) await new Neighbour(neighbour).answers();
    },
  );
});

describe('creations that are aborted', () => {
  it('leave no descriptor and no socket, in Muster as in the zygote, whenever it happens', async () => {
    const [neighbour] = await three();
    const { warden, image } = await zygoteProcesses(fixture.context.stateDir);
    /** One after the other: a reader of a directory has it open meanwhile. */
    const open = async (): Promise<readonly number[]> => {
      const counts: number[] = [];
      for (const pid of [process.pid, warden, image]) counts.push((await readdir(`/proc/${pid}/fd`)).length);
      return counts;
    };
    const before = await open();
    let aborted = 0;
    for (let turns = 0; turns < 120; turns += extent({ short: 10, full: 3 })) {
      const abort = new AbortController();
      const creation = Promise.allSettled([fixture.create(ECHO, {}, abort.signal)]);
      for (let i = 0; i < turns; i += 1) await turn();
      abort.abort(new Error('changed my mind'));
      const [end] = await creation;
      if (end.status === 'rejected') aborted += 1;
      else await end.value.destroy();
    }
    expect(aborted).toBeGreaterThan(0);
    await eventually('all are closed', async () => (await open()).every((count, i) => count <= (before[i] ?? 0)));
    if (neighbour) await new Neighbour(neighbour).answers();
  });
});

describe('a Muster that is killed', () => {
  it('with many forked sandboxes leaves none of them running', async () => {
    const marker = `orphan-${process.pid}`;
    const count = async (): Promise<number> => listProcesses().filter(({ argv }) => argv.includes(marker)).length;
    const command = ['sh', '-c', 'while :; do sleep 1000; done', marker];
    const { child, created } = await fixture.context.startOwner(Array.from({ length: ORPHANS }, () => command));
    expect(created).toHaveLength(ORPHANS);
    await eventually('all run', async () => (await count()) === ORPHANS);
    child.kill('SIGKILL');
    await eventually('none is left', async () => (await count()) === 0);
    expect(await fixture.provider.sweep(NEVER)).toHaveLength(ORPHANS);
    expect(await fixture.context.traces()).toEqual([]);
  });
});
