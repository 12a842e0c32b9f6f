/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import type { Sandbox } from '../../../src/pool/ports/sandbox.ts';
import { eventually } from '../../support/eventually.ts';
import type { Scenario } from '../sandbox-provider.ts';
import { exchange, firstLine, NEVER, type SandboxScene } from '../sandbox-scene.ts';

/** A sandbox with a parent and a runaway descendant, both seen in the process table. */
async function family(scene: SandboxScene, lifetimeSeconds = 3600): Promise<Sandbox> {
  const sandbox = await scene.create(scene.commands.family(scene.marker), { lifetimeSeconds });
  expect(await firstLine(sandbox)).toBe('ready\n');
  await eventually('parent and descendant run', async () => (await scene.markedProcesses()).length === 2);
  return sandbox;
}

/** How sandboxes end, and that nothing is left of them. */
export const leavingScenarios: Readonly<Record<string, Scenario>> = {
  'a lifetime that passes ends the program': async (scene) => {
    const sandbox = await scene.create(scene.commands.idle(scene.marker), { lifetimeSeconds: 1000 });
    expect(await firstLine(sandbox)).toBe('ready\n');
    scene.ground.clock.skip(1_000_000);
    expect(await sandbox.exit).toEqual({ kind: 'lifetime' });
    await sandbox.destroy();
    await scene.expectNothingLeft();
  },

  'a lifetime that passes leaves no descendant': async (scene) => {
    const sandbox = await family(scene, 1000);
    scene.ground.clock.skip(1_000_000);
    expect(await sandbox.exit).toEqual({ kind: 'lifetime' });
    await scene.expectNothingLeft();
  },

  'destroy leaves no descendant': async (scene) => {
    const sandbox = await family(scene);
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'destroyed' });
    await scene.expectNothingLeft();
  },

  'a program that ends leaves no descendant': async (scene) => {
    const sandbox = await scene.create(
      scene.commands.python(`
import os, sys
if os.fork() == 0:
    os.setsid()
    os.execvp('sh', ['sh', '-c', 'echo ready; while :; do sleep 1000; done', '${scene.marker}'])
sys.stdin.readline()
os._exit(7)
`),
    );
    expect(await firstLine(sandbox)).toBe('ready\n');
    // Until the shell's own child has become `sleep`, it carries the marker too.
    await eventually('the descendant alone runs', async () => (await scene.markedProcesses()).length === 1);
    sandbox.stdin.end('go\n');
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 7 });
    await scene.expectNothingLeft();
  },

  'destroy twice, or at the same time, is one destroy': async (scene) => {
    const sandbox = await scene.create(scene.commands.idle(scene.marker));
    await Promise.all([sandbox.destroy(), sandbox.destroy(), sandbox.destroy()]);
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'destroyed' });
    await scene.expectNothingLeft();
  },

  'destroy after the end leaves the exit as it was': async (scene) => {
    const sandbox = await scene.create(scene.commands.exit(4));
    await sandbox.exit;
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 4 });
    await scene.expectNothingLeft();
  },

  'a creation that is aborted at any moment leaves nothing': async (scene) => {
    // The first creation prepares the ground; only those after it take the usual time.
    await (await scene.create(scene.commands.exit(0))).destroy();
    for (let turns = 0; turns < 60; turns += 3) {
      const abort = new AbortController();
      const creation = scene.create(scene.commands.idle(scene.marker), {}, scene.provider, abort.signal);
      const settled = creation.then(
        (sandbox) => sandbox.destroy(),
        (error: unknown) => expect(error).toHaveProperty('message', 'changed my mind'),
      );
      for (let i = 0; i < turns; i += 1) await turn();
      abort.abort(new Error('changed my mind'));
      await settled;
    }
    await scene.expectNothingLeft();
  },

  'a creation that was aborted before it began leaves nothing': async (scene) => {
    await expect(scene.create(scene.commands.exit(0), {}, scene.provider, AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
    expect(await scene.ground.traces()).toEqual([]);
  },

  'closing the provider destroys what runs and what is being made': async (scene) => {
    const provider = scene.anotherProvider();
    const running = await scene.create(scene.commands.idle(scene.marker), {}, provider);
    const inTheMaking = scene.create(scene.commands.idle(scene.marker), {}, provider).catch((error: unknown) => error);
    await provider[Symbol.asyncDispose]();
    await inTheMaking;
    expect(await running.exit).toEqual({ kind: 'destroyed' });
    await expect(scene.create(scene.commands.exit(0), {}, provider)).rejects.toThrow(InfrastructureError);
    await scene.expectNothingLeft();
  },

  'a sandbox that is taken away from outside is lost': async (scene) => {
    const sandbox = await scene.create(scene.commands.idle(scene.marker));
    expect(await firstLine(sandbox)).toBe('ready\n');
    await scene.ground.killFromOutside(scene.provider, sandbox.id);
    expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
    await sandbox.destroy();
    await scene.expectNothingLeft();
  },

  'a sweep removes what a crashed owner left, and nothing of a live one': async (scene) => {
    const alive = await scene.create(scene.commands.echo(), {}, scene.anotherProvider());
    const { commands, marker } = scene;
    const ids = await scene.ground.crashedOwner([commands.idle(marker), commands.echo()]);
    expect(ids).toHaveLength(2);
    expect([...(await scene.provider.sweep(NEVER))].sort()).toEqual([...ids].sort());
    expect(await scene.provider.sweep(NEVER)).toEqual([]);
    await exchange(alive, 'still there?\n');
    await alive.destroy();
    await scene.expectNothingLeft();
  },
};
