import { LRUCache } from 'lru-cache';
import { listLaidFiles } from '../../agents/grading/lay-workdir.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { TaskDigest } from '../../agents/tasks/task-ids.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import type { PlayableTask } from './playable-task.ts';

/** The limit for all tasks whose files are in memory. */
const MOST_BYTES = 256 * 2 ** 20;

/** The files that tasks put into their workspaces, read once for many episodes of a task. */
export class BroughtFiles {
  readonly #getSandboxes: (open: PlayableTask) => GradingSandboxes;
  readonly #known = new LRUCache<TaskDigest, readonly WorkspaceFile[]>({
    maxSize: MOST_BYTES,
    sizeCalculation: (files) => files.reduce((sum, { content, path }) => sum + content.length + path.length, 1),
  });

  constructor(getSandboxes: (open: PlayableTask) => GradingSandboxes) {
    this.#getSandboxes = getSandboxes;
  }

  /** @throws InputError when the task's place cannot be made; InfrastructureError; the signal's reason. */
  async read(open: PlayableTask, signal: AbortSignal): Promise<readonly WorkspaceFile[]> {
    const { task, content } = open;
    const known = this.#known.get(task.digest);
    if (known) return known;
    const files = await listLaidFiles({ task, step: task.steps[0], content }, { sandboxes: this.#getSandboxes(open) }, signal);
    this.#known.set(task.digest, files);
    return files;
  }
}
