import { describe, expect, it } from 'vitest';
import { WorkspaceSession } from '../../../src/agents/workspace/workspace-session.ts';
import { parseSandboxId } from '../../../src/kernel/ids.ts';
import { FakeProvider, FakeSandbox } from '../../support/fake-provider.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

const { signal } = new AbortController();
const FILES = ['/app/a', '/app/b', '/app/c'].map((path) => ({ path, content: Buffer.from('x'), executable: false }));
const SILENT = { code: 'workspace.silent', message: 'a workspace said nothing for 60 s' };

async function openSession(): Promise<{ session: WorkspaceSession; clock: ManualClock; say: (frame: object) => Promise<void> }> {
  const clock = new ManualClock();
  const sandbox = new FakeSandbox(parseSandboxId('s1'), new FakeProvider());
  sandbox.stdin.resume();
  const say = async (frame: object): Promise<void> => {
    sandbox.stdout.write(`${JSON.stringify(frame)}\n`);
    await settle();
  };
  await say({ type: 'ready', protocol: 1 });
  return { session: await WorkspaceSession.open(sandbox, clock, signal), clock, say };
}

describe('a workspace that is slow', () => {
  it('may take as long as it likes to take files and to give them, while it shows progress', async () => {
    const { session, clock, say } = await openSession();
    const put = session.put(FILES, signal);
    for (const request of [1, 2, 3]) {
      await clock.advance(59_999);
      await say({ type: 'done', request });
    }
    await put;
    const collected = session.collect(['/app'], { files: 10, bytes: 100 }, signal);
    for (const path of ['/app/a', '/app/b']) {
      await clock.advance(59_999);
      await say({ type: 'entry', request: 4, kind: 'file', path, executable: false });
    }
    await clock.advance(59_999);
    await say({ type: 'done', request: 4 });
    expect(await collected).toMatchObject({ kind: 'collected', files: [{ path: '/app/a' }, { path: '/app/b' }] });
    expect(clock.pending).toBe(0);
  });

  it('counts as lost after a minute without any', async () => {
    const { session, clock, say } = await openSession();
    const put = session.put(FILES, signal).catch((error: unknown) => error);
    await settle();
    const collected = session.collect(['/app'], { files: 10, bytes: 100 }, signal).catch((error: unknown) => error);
    await clock.advance(30_000);
    await say({ type: 'done', request: 1 });
    await clock.advance(59_999);
    expect(clock.pending).toBe(2);
    await clock.advance(1);
    expect(await Promise.all([put, collected])).toMatchObject([SILENT, SILENT]);
    expect(clock.pending).toBe(0);
  });
});
