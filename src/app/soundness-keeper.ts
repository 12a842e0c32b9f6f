import { toDefinition, toJudgedTask } from '../agents/arena/task-definition.ts';
import type { Soundness } from '../agents/grading/soundness.ts';
import type { Task } from '../agents/tasks/task.ts';
import type { Config } from '../config/config.ts';
import { systemClock } from '../kernel/clock.ts';
import { openEvaluationStore } from './stores.ts';

/** Stores the findings of task checks in the store that the arena reads. Part of the composition root. */
export interface SoundnessKeeper extends AsyncDisposable {
  /** Replaces earlier findings about the task with this verifier. @throws InfrastructureError */
  keep(task: Task, found: Soundness): Promise<void>;
}

/** @throws as `openEvaluationStore` does: one process at a time can use an SQLite store. */
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
