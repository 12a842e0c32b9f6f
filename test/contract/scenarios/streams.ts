/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { extent } from '../../support/full-form.ts';
import { heldMemory } from '../../support/held-memory.ts';
import type { Scenario } from '../sandbox-provider.ts';
import { exchange } from '../sandbox-fixture.ts';

const MEBIBYTE = 2 ** 20;

/** How a program ends, and what flows while it runs. */
export const streamScenarios: Readonly<Record<string, Scenario>> = {
  'the exit code is the program’s': async (fixture) => {
    for (const code of [0, 3, 255]) expect((await fixture.run(fixture.commands.exit(code))).exit).toEqual({ kind: 'exited', code });
  },

  'a program that dies by signal n exits with 128 + n': async (fixture) => {
    for (const signal of [9, 15])
      expect((await fixture.run(fixture.commands.dieBy(signal))).exit).toEqual({ kind: 'exited', code: 128 + signal });
  },

  'a program that does not exist exits with 127, as in a shell': async (fixture) => {
    const { exit, stderr } = await fixture.run(['no-such-program']);
    expect(exit).toEqual({ kind: 'exited', code: 127 });
    expect(stderr).toContain('no-such-program');
  },

  'the end of stdin is a half-close: output still flows': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.echo());
    await exchange(sandbox, 'one\n');
    sandbox.stdin.end('two\n');
    expect(await text(sandbox.stdout)).toBe('two\nbye\n');
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
  },

  'bytes of every value pass unchanged both ways': async (fixture) => {
    const bytes = randomBytes(3 * MEBIBYTE);
    const sandbox = await fixture.create(fixture.commands.echo());
    sandbox.stdin.end(bytes);
    const echoed = await buffer(sandbox.stdout);
    expect(Buffer.compare(echoed, Buffer.concat([bytes, Buffer.from('bye\n')]))).toBe(0);
  },

  'output that was not read before the end can be read afterwards': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.emit(50_000));
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
    expect(await text(sandbox.stdout)).toBe('y\n'.repeat(25_000));
  },

  'what is written after the end is ignored': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.exit(0));
    await sandbox.exit;
    await new Promise<void>((resolve, reject) => {
      sandbox.stdin.once('error', reject);
      sandbox.stdin.end('too late\n', resolve);
    });
  },

  'much output passes a slow reader in bounded memory': async (fixture) => {
    const size = extent({ short: 50_000_000, full: 100_000_000 });
    const sandbox = await fixture.create(fixture.commands.emit(size));
    const before = heldMemory();
    let received = 0;
    let growth = 0;
    let nextLook = 0;
    for await (const chunk of sandbox.stdout) {
      received += Buffer.from(chunk).length;
      if (received >= nextLook) {
        growth = Math.max(growth, heldMemory() - before);
        nextLook += 10 * MEBIBYTE;
      }
      expect(sandbox.stdout.readableLength).toBeLessThan(MEBIBYTE);
      await turn();
    }
    expect(received).toBe(size);
    expect(growth).toBeLessThan(24 * MEBIBYTE);
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
  },

  'a program whose output is not read is stopped, and goes on when it is read': async (fixture) => {
    const chunks = 512;
    const sandbox = await fixture.create(fixture.commands.emitCounting(chunks));
    let reported = '';
    sandbox.stderr.on('data', (chunk: Buffer) => (reported += chunk.toString()));
    const count = (): number => reported.split('\n').length - 1;
    // Where both outputs come over one connection, what is not read of the one holds up the other.
    await eventually('the program writes', () => sandbox.stdout.readableLength > 0);
    let last = '';
    await eventually('the program makes no more progress', async () => {
      const seen = `${sandbox.stdout.readableLength} bytes, ${count()} chunks`;
      const isStill = last === seen;
      last = seen;
      for (let i = 0; i < 20; i += 1) await turn();
      return isStill;
    });
    expect(sandbox.stdout.readableLength).toBeLessThan(MEBIBYTE);
    expect(count()).toBeLessThan(chunks / 4);
    const ended = once(sandbox.stderr, 'end');
    expect((await buffer(sandbox.stdout)).length).toBe(chunks * 16_384);
    await Promise.all([sandbox.exit, ended]);
    expect(count()).toBe(chunks);
  },
};
