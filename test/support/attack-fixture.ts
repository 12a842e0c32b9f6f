import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportSubmission } from '../../src/agents/grading/export-submission.ts';
import type { Submission } from '../../src/agents/grading/submission.ts';
import type { WorkspaceFile } from '../../src/agents/workspace/command.ts';
import type { OpenTask } from '../../src/app/grading/task-grader.ts';
import type { Verdict } from '../../src/agents/verification/verdict.ts';
import { sampled } from './full-form.ts';
import { type FilesByPath, GradingFixture, SORT_TASK } from './grading-fixture.ts';
import { shell, WorkspaceFixture } from './workspace-fixture.ts';

/** A way to be rewarded without having solved the task, and an honest solution that does something similar for a good reason. */
export interface Attack {
  readonly name: string;
  /** What the agent leaves in /app. */
  readonly files: FilesByPath;
  /** What it runs in its workspace, where that is. Processes that it leaves behind are there when a naive verifier judges. */
  readonly script?: string;
  /** The naive verifier's tests, beside or in place of `NAIVE_TESTS`. */
  readonly naive?: FilesByPath;
  /** Our task, where it is another than sorting. */
  readonly task?: FilesByPath;
  readonly twin: { readonly files: FilesByPath; readonly script?: string };
}

/** Files that an agent finds. Nothing has been solved. */
export const UNSOLVED = 'def sort_numbers(numbers):\n    return numbers\n';

/** Tests as they are often written: they import the candidate, and the status of their process is the verdict. */
export const NAIVE_TESTS: FilesByPath = {
  'test.sh': '#!/bin/bash\ncd /app\nif python3 -m unittest discover -s /tests; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n',
  'test_sort.py': `import sys, unittest
sys.path.insert(0, "/app")
class Sorting(unittest.TestCase):
    def test_sorts(self):
        from sort import sort_numbers
        numbers = [3, 1, 2]
        expected = sorted(numbers)
        self.assertEqual(sort_numbers(numbers), expected)
`,
};

const soon = (): AbortSignal => AbortSignal.timeout(120_000);

/** Workspaces for attackers, naive verifiers, and ours. */
class AttackFixture implements AsyncDisposable {
  readonly #workspaces: WorkspaceFixture;
  readonly #grading: GradingFixture;

  private constructor(workspaces: WorkspaceFixture, grading: GradingFixture) {
    this.#workspaces = workspaces;
    this.#grading = grading;
  }

  static async open(): Promise<AttackFixture> {
    return new AttackFixture(await WorkspaceFixture.open(), await GradingFixture.open());
  }

  /** What a verifier says that runs in the agent's own sandbox, after the agent: test.sh, and whatever is in the reward file afterwards. */
  async naiveReward({ files, script = ':', naive = {} }: Attack): Promise<string> {
    const { sandbox, session } = await this.#workspaces.workspace({ writable: ['/app', '/tests', '/logs', '/hidden'] });
    await session.put([...filesAt('/app', { 'sort.py': UNSOLVED, ...files }), ...filesAt('/hidden', { ...NAIVE_TESTS, ...naive })], soon());
    const verify = 'mkdir -p /logs/verifier; cp -r /hidden/. /tests/; sleep .2; timeout 20 /tests/test.sh >/dev/null 2>&1; sleep .3';
    const result = await shell(session, `${script}\n${verify}; cat /logs/verifier/reward.txt`);
    await sandbox.destroy();
    return result.stdout.head.toString().trim();
  }

  /** What we say: the artifacts are exported, and graded elsewhere. */
  async verdict(task: OpenTask, files: FilesByPath, script: string | undefined): Promise<Verdict> {
    const { sandbox, session } = await this.#workspaces.workspace({ writable: ['/app', '/tests', '/logs'] });
    await session.put(filesAt('/app', { 'sort.py': UNSOLVED, ...files }), soon());
    if (script !== undefined) await shell(session, script);
    const [step] = task.task.steps;
    const submission: Submission = await exportSubmission(session, step.artifacts, soon());
    await sandbox.destroy();
    return (await this.#grading.grader.grade(task, step, submission, {}, soon())).verdict;
  }

  task(files: FilesByPath): Promise<OpenTask> {
    return this.#grading.task(files);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#grading[Symbol.asyncDispose]();
    await this.#workspaces[Symbol.asyncDispose]();
  }
}

/** A test for each attack of a family: it fools a naive verifier, scores 0 with ours, and its honest twin scores 1. */
export function testAttacks(attacks: readonly Attack[]): void {
  let fixture: AttackFixture;
  beforeAll(async () => {
    fixture = await AttackFixture.open();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it.each(sampled(attacks, (attack) => attacks.indexOf(attack) % 4 === 1).map((attack) => [attack.name, attack] as const))(
    '%s: fools a naive verifier, and not ours',
    async (_, attack) => {
      expect(await fixture.naiveReward(attack)).toBe('1');
      const task = await fixture.task(attack.task ?? SORT_TASK);
      expect(await fixture.verdict(task, attack.files, attack.script)).toMatchObject({ reward: 0, problem: null });
      expect(await fixture.verdict(task, attack.twin.files, attack.twin.script)).toMatchObject({ reward: 1, problem: null });
    },
  );
}

function filesAt(directory: string, files: FilesByPath): readonly WorkspaceFile[] {
  return Object.entries(files).map(([path, text]) => ({
    path: `${directory}/${path}`,
    content: Buffer.from(text),
    executable: text.startsWith('#!'),
  }));
}
