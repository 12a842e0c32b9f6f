import { toDefinition, toJudgedTask } from '../agents/arena/task-definition.ts';
import type { Soundness } from '../agents/grading/soundness.ts';
import type { Task } from '../agents/tasks/task.ts';
import type { Config } from '../config/config.ts';
import { systemClock } from '../kernel/clock.ts';
import { openEvaluationStore } from './stores.ts';

/** Keeps what checks of tasks have found in the store that the arena reads. Part of the composition root. */
export interface SoundnessKeeper extends AsyncDisposable {
  /** In place of what was found before of the task with this verifier. @throws InfrastructureError */
  keep(task: Task, found: Soundness): Promise<void>;
}

/** @throws as `openEvaluationStore` does: an SQLite store is one process's alone. */
export async function openSoundnessKeeper(config: Config): Promise<SoundnessKeeper> {
  const store = await openEvaluationStore(config, systemClock);
  return {
    keep: async (task, found) => {
      await store.tasks.define(toDefinition(task));
      await store.tasks.keepSoundness(toJudgedTask(task), found);
    },
    [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
  };
}
