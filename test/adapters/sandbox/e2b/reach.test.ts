import { expect, test } from 'vitest';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import { exchange } from '../../../contract/sandbox-fixture.ts';
import { E2bContext } from '../../../support/e2b/e2b-context.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';

useRealSockets();

test('a program is heard while another command runs, and its connection lasts', async () => {
  // The first start is the program's own.
  await using context = await E2bContext.open([], { faults: [{ route: 'start', nth: 3, kind: 'failing' }] });
  await using provider = context.provider();
  const sandbox = await provider.create(
    { id: parseSandboxId('far'), template: { ...TEMPLATE, command: ['cat'], ...context.additions } },
    new AbortController().signal,
  );
  await exchange(sandbox, 'here\n');
  expect(await sandbox.capabilities?.isReachable?.()).toBe(true);
  expect(await sandbox.capabilities?.isReachable?.()).toBe(false);
  expect(await sandbox.capabilities?.isReachable?.()).toBe(true);
  await context.killFromOutside(provider, sandbox.id);
  expect(await sandbox.capabilities?.isReachable?.()).toBe(false);
  expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
});
