import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import { shellCommands } from '../../../contract/sandbox-commands.ts';
import { exchange, firstLine } from '../../../contract/sandbox-fixture.ts';
import { E2bContext } from '../../../support/e2b/e2b-context.ts';
import { eventually } from '../../../support/eventually.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { SkippableClock } from '../../../support/skippable-clock.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';

useRealSockets();
const commands = shellCommands('python3');
const NEVER = new AbortController().signal;

let context: E2bContext;
let provider: SandboxProvider;
beforeEach(async () => {
  context = await E2bContext.open([]);
  provider = context.provider();
});
afterEach(async () => {
  await provider[Symbol.asyncDispose]();
  expect(await context.traces()).toEqual([]);
  expect(context.clock.pending).toBe(0);
  await context[Symbol.asyncDispose]();
});

function create(command: readonly string[] = commands.echo()): Promise<Sandbox> {
  return provider.create({ id: parseSandboxId('sleeper'), template: { ...TEMPLATE, command, ...context.additions } }, NEVER);
}

const states = (): readonly string[] => context.simulator.account.tenants.map(({ state }) => state);

test('an idle sandbox is paused, and its program continues with the next input', async () => {
  const sandbox = await create();
  await exchange(sandbox, 'before\n');
  await sandbox.capabilities?.rest?.();
  expect(states()).toEqual(['paused']);
  await exchange(sandbox, 'after\n');
  expect(states()).toEqual(['running']);
  sandbox.stdin.end();
  expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
});

test('input that comes while it is being paused waits, wakes it, and is not lost', async () => {
  const sandbox = await create();
  await exchange(sandbox, 'before\n');
  const resting = sandbox.capabilities?.rest?.();
  await exchange(sandbox, 'at once\n');
  await resting;
  expect(states()).toEqual(['running']);
});

test('an upload wakes it', async () => {
  const sandbox = await create(commands.hashFiles());
  await sandbox.capabilities?.rest?.();
  const inside = await sandbox.upload('file', { kind: 'file', hostPath: import.meta.filename }, NEVER);
  sandbox.stdin.write(`${inside}\n`);
  expect(await firstLine(sandbox)).toMatch(/^[0-9a-f]{64}\n$/);
});

test('a paused sandbox is not extended, does not end by itself, and is extended again when it is awake', async () => {
  const sandbox = await create();
  await sandbox.capabilities?.rest?.();
  context.clock.skip(1_000_000);
  expect(context.simulator.faults.requests.extend).toBeUndefined();
  await exchange(sandbox, 'awake\n');
  context.clock.skip(150_000);
  await eventually('it is extended', () => context.simulator.faults.requests.extend !== undefined);
  await exchange(sandbox, 'still there\n');
  expect(context.simulator.faults.requests.extend).toBe(1);
});

test('a paused sandbox can be destroyed', async () => {
  const sandbox = await create();
  await sandbox.capabilities?.rest?.();
  await sandbox.destroy();
  expect(await sandbox.exit).toEqual({ kind: 'destroyed' });
  expect(await context.traces()).toEqual([]);
});

test('a paused sandbox that was killed from outside is lost at the next input', async () => {
  const sandbox = await create();
  await sandbox.capabilities?.rest?.();
  await context.killFromOutside(provider, sandbox.id);
  sandbox.stdin.write('anybody?\n');
  expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
});

test('a paused sandbox without an owner is swept by any Muster once its lifetime has passed', async () => {
  const sandbox = await create();
  await sandbox.capabilities?.rest?.();
  const later = new SkippableClock();
  const stranger = context.provider(later);
  later.skip(TEMPLATE.limits.lifetimeSeconds * 1000);
  expect(await stranger.sweep(NEVER), 'clocks may differ by an hour').toEqual([]);
  later.skip(3_700_000);
  expect(await stranger.sweep(NEVER)).toEqual([sandbox.id]);
  await stranger[Symbol.asyncDispose]();
});
