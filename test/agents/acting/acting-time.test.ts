import { describe, expect, it } from 'vitest';
import { WorkspaceChanges } from '../../../src/agents/acting/acted/workspace-changes.ts';
import { playModel } from '../../../src/agents/acting/model/act-model.ts';
import { modelAgentSchema } from '../../../src/agents/acting/model/model-agent.ts';
import type { Completion } from '../../../src/agents/acting/model/model-endpoint.ts';
import { ActingTime } from '../../../src/agents/acting/program/act-program.ts';
import { WorkspaceSession } from '../../../src/agents/workspace/workspace-session.ts';
import { parseSandboxId } from '../../../src/kernel/ids.ts';
import { FakeProvider, FakeSandbox } from '../../support/fake-provider.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SkippableClock } from '../../support/skippable-clock.ts';
import { caseTask } from '../../support/task-fixture.ts';

describe('the time of a program', () => {
  it('runs while it acts, pauses while its model answers, and ends once', async () => {
    const clock = new ManualClock();
    let over = 0;
    using time = new ActingTime(clock, 10, () => (over += 1));
    await clock.advance(4000);
    time.stand();
    await clock.advance(3_600_000);
    time.go();
    await clock.advance(5999);
    expect([over, time.spentSeconds]).toEqual([0, 9.999]);
    await clock.advance(1);
    expect(over).toBe(1);
    time.stand();
    expect([clock.pending, time.spentSeconds]).toEqual([0, 10]);
  });
});

describe('the time of a model', () => {
  it('runs while its commands run, and pauses for up to five minutes while they wait for a processor', async () => {
    const [clock, { signal }] = [new SkippableClock(), new AbortController()];
    const sandbox = new FakeSandbox(parseSandboxId('s1'), new FakeProvider());
    const say = (frame: object): boolean => sandbox.stdout.write(`${JSON.stringify(frame)}\n`);
    sandbox.stdin.on('data', (line: Buffer) => {
      clock.skip(90_000);
      const measured = { seconds: 90, waitedSeconds: 80, cpuSeconds: 10, peakBytes: 0, called: [] };
      const { request } = JSON.parse(String(line));
      say({ type: 'ended', request, end: { kind: 'exited', code: 0 }, bytes: { stdout: 0, stderr: 0, report: 0 }, ...measured });
    });
    say({ type: 'ready', protocol: 1 });
    const session = await WorkspaceSession.open(sandbox, clock, signal);
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    const call = { id: 'c', name: 'run', arguments: '{"command": "make"}' };
    const said = { content: '', reasoning: null, toolCalls: [call], finishReason: 'tool_calls', usage, model: 'm', tokens: undefined };
    const endpoint = { complete: (): Promise<Completion> => Promise.resolve({ kind: 'message', ...said }) };
    const task = caseTask({ 'task.toml': 'schema_version = "1.4"\n[task]\nname = "toys/double"\n[agent]\ntimeout_sec = 100\n' });
    const open = { task, step: task.steps[0], content: { read: () => Promise.reject(new Error('no file is read')) } };
    const changes = new WorkspaceChanges(session, [], { isKept: false, isShown: false });
    const agent = modelAgentSchema.parse({ agent: 'model', endpoint: 'http://127.0.0.1:1/v1', model: 'm' });
    const acted = await playModel(open, agent, 1, { session, changes, clock, endpoint }, signal);
    // Three times 10 s, then 30 s, as 60 of its 80 s are left, and then all 90 s.
    expect([acted.stopReason, acted.actions]).toEqual(['time', 5]);
    sandbox.die();
    await session.gone;
    expect(clock.pending).toBe(0);
  });
});
