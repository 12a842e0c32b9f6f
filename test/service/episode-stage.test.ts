import { expect, it } from 'vitest';
import { parseAgentEpisodeId } from '../../src/agents/arena/episode-ids.ts';
import { NOTHING_SPENT } from '../../src/agents/arena/episode-state.ts';
import type { GradingSandboxes } from '../../src/agents/grading/grading-sandboxes.ts';
import { DEFAULT_TERMS } from '../../src/agents/tasks/arena-rules.ts';
import { WorkspaceSession } from '../../src/agents/workspace/workspace-session.ts';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import { BroughtFiles } from '../../src/service/arena/brought-files.ts';
import { CommandStarts } from '../../src/service/arena/command-starts.ts';
import { EpisodeStage } from '../../src/service/arena/episode-stage.ts';
import { FakeProvider, FakeSandbox } from '../support/fake-provider.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { caseTask } from '../support/task-fixture.ts';

it("leaves waits of commands for a processor out of an episode's time, up to five minutes", async () => {
  const [clock, { signal }] = [new ManualClock(), new AbortController()];
  const sandbox = new FakeSandbox(parseSandboxId('s1'), new FakeProvider());
  const say = (frame: object): boolean => sandbox.stdout.write(`${JSON.stringify(frame)}\n`);
  sandbox.stdin.on('data', (lines: Buffer) => {
    for (const line of String(lines).trim().split('\n')) {
      const { request, type } = JSON.parse(line);
      if (type !== 'exec') {
        say({ type: 'done', request });
        continue;
      }
      const measured = { seconds: 90, waitedSeconds: 80, cpuSeconds: 10, peakBytes: 0, called: [] };
      const ended = { type: 'ended', request, end: { kind: 'exited', code: 0 }, bytes: { stdout: 0, stderr: 0, report: 0 }, ...measured };
      void clock.advance(90_000).then(() => say(ended));
    }
  });
  say({ type: 'ready', protocol: 1 });
  const session = await WorkspaceSession.open(sandbox, clock, signal);
  const refuse = (): never => {
    throw new Error('one sandbox is opened');
  };
  const opened = { session, signal, [Symbol.asyncDispose]: async () => undefined };
  const sandboxes: GradingSandboxes = { open: async () => opened, openBoth: refuse, openTrusted: refuse, rootFiles: async () => [] };
  const task = { task: caseTask({}), content: { read: refuse } };
  const getSandboxes = (): GradingSandboxes => sandboxes;
  const contents = { keep: async () => undefined, read: async () => undefined, forget: async () => undefined };
  const [brought, starts] = [new BroughtFiles(getSandboxes), new CommandStarts(clock, 1)];
  await using stage = new EpisodeStage({ getSandboxes, contents, brought, clock, closing: signal, findTask: async () => task, starts });
  const episode = {
    id: parseAgentEpisodeId('ep-0-1'),
    principal: 'local',
    task: task.task.id,
    taskDigest: task.task.digest,
    agent: 'script',
    seed: 0,
    gradingSeed: '0',
    limits: { steps: 9, seconds: 999, bytesWritten: 9, output: 9, idleSeconds: 9 },
    actions: ['run'] as const,
    terms: DEFAULT_TERMS,
    gradesAbandoned: false,
    origin: undefined,
    createdAt: new Date(0),
    touchedAt: new Date(0),
    steps: 0,
    spent: NOTHING_SPENT,
    endedBy: undefined,
    closed: undefined,
  };
  const spent: number[] = [];
  for (let step = 0; step < 5; step += 1)
    spent.push((await stage.act({ episode, deltas: async () => [] }, 100, { action: 'run', command: 'make' })).spent.seconds);
  // 60 of the fourth one's 80 s are left.
  expect(spent).toEqual([10, 10, 10, 30, 90]);
  sandbox.die();
  await session.gone;
  expect(clock.pending).toBe(0);
});
