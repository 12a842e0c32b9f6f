/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import type { Sandbox } from '../../../src/pool/ports/sandbox.ts';
import { extent } from '../../support/full-form.ts';
import { eventually } from '../../support/eventually.ts';
import type { Scenario } from '../sandbox-provider.ts';
import { exchange, firstLine, NEVER, type SandboxFixture } from '../sandbox-fixture.ts';

/** Between the moments in which a creation is aborted. */
const TURNS_APART = extent({ short: 12, full: 3 });

/** A sandbox with a parent and a runaway descendant, both seen in the process table. */
async function family(fixture: SandboxFixture, lifetimeSeconds = 3600): Promise<Sandbox> {
  const sandbox = await fixture.create(fixture.commands.family(fixture.marker), { lifetimeSeconds });
  expect(await firstLine(sandbox)).toBe('ready\n');
  await eventually('parent and descendant run', async () => (await fixture.markedProcesses()).length === 2);
  return sandbox;
}

/** How sandboxes end, and that nothing is left of them. */
export const leavingScenarios: Readonly<Record<string, Scenario>> = {
  'a lifetime that passes ends the program': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.idle(fixture.marker), { lifetimeSeconds: 1000 });
    expect(await firstLine(sandbox)).toBe('ready\n');
    fixture.context.clock.skip(1_000_000);
    expect(await sandbox.exit).toEqual({ kind: 'lifetime' });
    await sandbox.destroy();
    await fixture.expectNothingLeft();
  },

  'a lifetime that passes leaves no descendant': async (fixture) => {
    const sandbox = await family(fixture, 1000);
    fixture.context.clock.skip(1_000_000);
    expect(await sandbox.exit).toEqual({ kind: 'lifetime' });
    await fixture.expectNothingLeft();
  },

  'destroy leaves no descendant': async (fixture) => {
    const sandbox = await family(fixture);
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'destroyed' });
    await fixture.expectNothingLeft();
  },

  'a program that ends leaves no descendant': async (fixture) => {
    const sandbox = await fixture.create(
      fixture.commands.python(`
import os, sys
if os.fork() == 0:
    os.setsid()
    os.execvp('sh', ['sh', '-c', 'echo ready; while :; do sleep 1000; done', '${fixture.marker}'])
sys.stdin.readline()
os._exit(7)
`),
    );
    expect(await firstLine(sandbox)).toBe('ready\n');
    // Until the shell's own child has become `sleep`, it carries the marker too.
    await eventually('the descendant alone runs', async () => (await fixture.markedProcesses()).length === 1);
    sandbox.stdin.end('go\n');
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 7 });
    await fixture.expectNothingLeft();
  },

  'destroy twice, or at the same time, is one destroy': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.idle(fixture.marker));
    await Promise.all([sandbox.destroy(), sandbox.destroy(), sandbox.destroy()]);
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'destroyed' });
    await fixture.expectNothingLeft();
  },

  'destroy after the end leaves the exit as it was': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.exit(4));
    await sandbox.exit;
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 4 });
    await fixture.expectNothingLeft();
  },

  'a creation that is aborted at any moment leaves nothing': async (fixture) => {
    // The first creation prepares the context; only those after it take the usual time.
    await (await fixture.create(fixture.commands.exit(0))).destroy();
    for (let turns = 0; turns < 60; turns += TURNS_APART) {
      const abort = new AbortController();
      const creation = fixture.create(fixture.commands.idle(fixture.marker), {}, fixture.provider, abort.signal);
      const settled = creation.then(
        (sandbox) => sandbox.destroy(),
        (error: unknown) => expect(error).toHaveProperty('message', 'changed my mind'),
      );
      for (let i = 0; i < turns; i += 1) await turn();
      abort.abort(new Error('changed my mind'));
      await settled;
    }
    await fixture.expectNothingLeft();
  },

  'a creation that was aborted before it began leaves nothing': async (fixture) => {
    await expect(fixture.create(fixture.commands.exit(0), {}, fixture.provider, AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
    expect(await fixture.context.traces()).toEqual([]);
  },

  'closing the provider destroys what runs and what is being made': async (fixture) => {
    const provider = fixture.anotherProvider();
    const running = await fixture.create(fixture.commands.idle(fixture.marker), {}, provider);
    const inTheMaking = fixture.create(fixture.commands.idle(fixture.marker), {}, provider).catch((error: unknown) => error);
    await provider[Symbol.asyncDispose]();
    await inTheMaking;
    expect(await running.exit).toEqual({ kind: 'destroyed' });
    await expect(fixture.create(fixture.commands.exit(0), {}, provider)).rejects.toThrow(InfrastructureError);
    await fixture.expectNothingLeft();
  },

  'a sandbox that is taken away from outside is lost': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.idle(fixture.marker));
    expect(await firstLine(sandbox)).toBe('ready\n');
    await fixture.context.killFromOutside(fixture.provider, sandbox.id);
    expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
    await sandbox.destroy();
    await fixture.expectNothingLeft();
  },

  'a sweep removes what a crashed owner left, and nothing of a live one': async (fixture) => {
    const alive = await fixture.create(fixture.commands.echo(), {}, fixture.anotherProvider());
    const { commands, marker } = fixture;
    const ids = await fixture.context.crashedOwner([commands.idle(marker), commands.echo()]);
    expect(ids).toHaveLength(2);
    expect([...(await fixture.provider.sweep(NEVER))].sort()).toEqual([...ids].sort());
    expect(await fixture.provider.sweep(NEVER)).toEqual([]);
    await exchange(alive, 'still there?\n');
    await alive.destroy();
    await fixture.expectNothingLeft();
  },
};
