import { expect, test } from 'vitest';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import { exchange } from '../../../contract/sandbox-scene.ts';
import { E2bGround } from '../../../support/e2b/e2b-ground.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { TEMPLATE } from '../../../support/evaluation-scene.ts';

useRealSockets();

test('a program is heard as long as a command runs beside it, and its connection stands', async () => {
  // The first start is the program's own.
  await using ground = await E2bGround.open([], { faults: [{ route: 'start', nth: 3, kind: 'failing' }] });
  await using provider = ground.provider();
  const sandbox = await provider.create(
    { id: parseSandboxId('far'), template: { ...TEMPLATE, command: ['cat'], ...ground.additions } },
    new AbortController().signal,
  );
  await exchange(sandbox, 'here\n');
  expect(await sandbox.capabilities?.isHeard?.()).toBe(true);
  expect(await sandbox.capabilities?.isHeard?.()).toBe(false);
  expect(await sandbox.capabilities?.isHeard?.()).toBe(true);
  await ground.killFromOutside(provider, sandbox.id);
  expect(await sandbox.capabilities?.isHeard?.()).toBe(false);
  expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
});
