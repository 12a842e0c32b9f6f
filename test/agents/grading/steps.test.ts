import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Agent } from '../../../src/agents/acting/agent.ts';
import { playTask, type PlayedTask } from '../../../src/agents/acting/play-task.ts';
import { combineRewards } from '../../../src/agents/tasks/task-reward.ts';
import { checkTask } from '../../../src/app/grading/task-check.ts';
import type { OpenTask } from '../../../src/app/grading/task-grader.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { type FilesByPath, GradingFixture, TASK } from '../../support/grading-fixture.ts';

const soon = (): AbortSignal => AbortSignal.timeout(120_000);
const judge = (file: string, text: string): string =>
  `#!/bin/bash\nif [ "$(cat /app/${file})" = "${text}" ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n`;

/** The second step builds on what the first has left beside its artifact, and on what its own set-up brings. */
const IN_STEPS: FilesByPath = {
  ...TASK,
  'task.toml': `${TASK['task.toml']}[[steps]]\nname = "one"\nmin_reward = 1.0\nartifacts = ["one.txt"]\n[[steps]]\nname = "two"\nartifacts = ["two.txt"]\n`,
  'environment/given.txt': 'given',
  'steps/one/instruction.md': 'Write one.txt.\n',
  'steps/one/tests/test.sh': judge('one.txt', 'first'),
  'steps/one/solution/solve.sh':
    '#!/bin/bash\nprintf first > one.txt\nprintf kept > notes\nln -s notes link\nrm given.txt\nprintf x > /tmp/y\n',
  'steps/two/instruction.md': 'Write two.txt.\n',
  'steps/two/workdir/setup.sh': 'cat brought > set-up\n',
  'steps/two/workdir/brought': 'brought',
  'steps/two/tests/test.sh': judge('two.txt', 'first kept brought x gone'),
  'steps/two/solution/solve.sh':
    '#!/bin/bash\necho "$(cat one.txt) $(cat link) $(cat set-up) $(cat /tmp/y) $([ -e given.txt ] || echo gone)" > two.txt\n',
  'cheats/claims/solve.sh': '#!/bin/bash\nmkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt\n',
  'twins/at-once/solve.sh':
    '#!/bin/bash\nif [ -e one.txt ]; then echo "first kept brought x gone" > two.txt; else printf first > one.txt; fi\n',
};

const IN_TIME = { stdin: '', timeout: 60 } as const;

let fixture: GradingFixture;
let open: OpenTask;
beforeAll(async () => {
  fixture = await GradingFixture.open();
  open = await fixture.task(IN_STEPS);
});
afterAll(() => fixture[Symbol.asyncDispose]());

async function play(agent: Agent, task = open, onActed?: () => void): Promise<PlayedTask> {
  const identity = { trajectory: 'one', group: null, rep: 0 };
  const episode = { ...task, agent, agentDigest: 'sha256:0', identity, policySeed: 1, environmentSeed: 1 };
  return await playTask(
    episode,
    {
      sandboxes: fixture.grader.getSandboxes(task),
      clock: systemClock,
      endpoint: undefined,
      gateway: undefined,
      offers: undefined,
      isShown: true,
      onActed,
    },
    soon(),
  );
}

describe('a task of several steps', () => {
  it('is sound when its steps are solved one after the other in one workspace, and each is judged by itself', async () => {
    const trials: string[] = [];
    const found = await checkTask(fixture.grader, open, { times: 1, onVerdict: (what) => trials.push(what) }, soon());
    expect(found.trials.map(({ name, rewards, detail }) => [name, rewards, detail])).toEqual([
      ['oracle', [1], ''],
      ['nop', [0], ''],
      ['claims', [0], ''],
      ['at-once', [1], ''],
    ]);
    // What has not done the first step as well as it must never comes to the second.
    expect(trials.toSorted()).toEqual([
      'cheat claims, step one',
      'nop nop, step one',
      'oracle oracle, step one',
      'oracle oracle, step two',
      'twin at-once, step one',
      'twin at-once, step two',
    ]);
  });

  it('gives an agent the mean of its steps, or the reward of the last one; an unreached step counts as 0', async () => {
    const one = [{ action: 'write_file', file: 'one.txt', content: 'first' }] as const;
    const two = [{ action: 'write_file', file: 'two.txt', content: 'wrong' }, { action: 'submit' }] as const;
    const onActed = vi.fn<() => void>();
    const half = await play({ agent: 'scripted', actions: [], tasks: { 'task/one': [...one], 'test/task/two': [...two] } }, open, onActed);
    expect(half.outcome).toMatchObject({ kind: 'completed', return: 0.5, length: 3, metrics: { gate: 1 } });
    // Between steps the agent still acts.
    expect(onActed).toHaveBeenCalledTimes(1);
    const stopped = await play({ agent: 'scripted', actions: [...two], tasks: {} }, open, onActed);
    expect(onActed).toHaveBeenCalledTimes(1);
    expect(stopped.outcome).toMatchObject({ kind: 'completed', return: 0, length: 2 });
    const last = await fixture.task({ ...IN_STEPS, 'task.toml': `multi_step_reward_strategy = "final"\n${IN_STEPS['task.toml']}` });
    expect((await play({ agent: 'oracle' }, last)).outcome).toMatchObject({ return: 1 });
    expect([[1], [1, 0.5], [1, null]].map((rewards) => combineRewards(last.task, rewards))).toEqual([0, 0.5, null]);
    expect([[1], [1, 0.5], [1, null]].map((rewards) => combineRewards(open.task, rewards))).toEqual([0.5, 0.75, null]);
  });

  it('continues from what actions have written and commands have made, and has a transcript of each step with what each call changed', async () => {
    const one = [
      { action: 'write_file', file: 'one.txt', content: 'first' },
      { action: 'run', command: 'printf kept > notes; ln -s notes link; rm given.txt; printf x > /tmp/y', ...IN_TIME },
    ] as const;
    const two = [
      { action: 'edit_file', file: 'one.txt', old: 'first', new: 'second' },
      {
        action: 'run',
        command: 'echo "first $(cat link) $(cat set-up) $(cat /tmp/y) $([ -e given.txt ] || echo gone)" > two.txt; cat one.txt',
        ...IN_TIME,
      },
      { action: 'submit' },
    ] as const;
    const played = await play({ agent: 'scripted', actions: [], tasks: { 'task/one': [...one], 'test/task/two': [...two] } });
    expect(played.outcome).toMatchObject({ kind: 'completed', return: 1, length: 5 });
    const steps = played.transcript?.steps ?? [];
    const calls = steps.map(({ turns }) => turns.flatMap((turn) => turn.calls));
    expect(calls.map((of) => of.map(({ name, diff }) => [name, diff?.files.map(({ path, change }) => `${change} ${path}`)]))).toEqual([
      [
        ['write_file', ['added /app/one.txt']],
        ['run', ['removed /app/given.txt', 'added /app/link', 'added /app/notes', 'added /tmp/y']],
      ],
      [
        ['edit_file', ['changed /app/one.txt']],
        ['run', ['added /app/two.txt']],
        ['submit', []],
      ],
    ]);
    expect(calls[1]?.[0]?.diff?.patch).toContain('-first\n');
    expect(calls[1]?.[1]?.answer).toContain('second');
    expect(steps.map(({ verdict, stopReason }) => [verdict?.reward, stopReason])).toEqual([
      [1, 'script-ended'],
      [1, 'submitted'],
    ]);
  });

  it('fails a step whose set-up an agent has broken, and says so', async () => {
    const broken = await fixture.task({ ...IN_STEPS, 'steps/two/workdir/setup.sh': '[ ! -e one.txt ] || exit 3\n' });
    const found = await checkTask(fixture.grader, broken, { times: 1 }, soon());
    expect(found.trials[0]).toMatchObject({ name: 'oracle', rewards: [0.5], finding: 'wrong' });
    expect(found.trials[0]?.detail).toMatch(/^step two: .*steps\/two\/workdir\/setup\.sh failed \(exited\)/);
  });
});
