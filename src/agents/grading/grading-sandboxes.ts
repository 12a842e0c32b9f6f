import type { Mount } from '../../pool/ports/template.ts';
import type { RootFileSystem } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';

/** What a grading sandbox is made of. */
export interface GradingTemplate {
  readonly root: RootFileSystem;
  /** Directories that can be written to, besides /tmp and /dev/shm. */
  readonly writable: readonly string[];
  readonly limits: GradingLimits;
  /** What is brought along for the tests, read-only. */
  readonly tools: readonly GradingTool[];
}

/**
 * pytest: what `python3 -m pytest` needs, at `PYTEST_INSIDE`, for a root file system that is this machine's. go: Go's own packages as they are compiled,
 * at `GO_BUILD_INSIDE`. A mount: what a preparation brings along.
 */
export type GradingTool = 'pytest' | 'go' | Mount;
export const PYTEST_INSIDE = '/muster/pytest';
export const GO_BUILD_INSIDE = '/muster/go-build';

/** Undefined: as the configuration has it. */
export interface GradingLimits {
  readonly cpus: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly storageBytes: number | undefined;
}

export interface GradingSandbox extends AsyncDisposable {
  readonly session: WorkspaceSession;
  /** Aborted when the sandbox is lost. */
  readonly signal: AbortSignal;
}

/** Where sandboxes for grading come from. */
export interface GradingSandboxes {
  /**
   * A sandbox in which nothing has been before, for the caller alone. It is gone when it is disposed of.
   *
   * @throws InputError when a sandbox cannot be made as the template declares it; InfrastructureError; the signal's reason.
   */
  open(template: GradingTemplate, signal: AbortSignal): Promise<GradingSandbox>;

  /** Two at once: what held one while it waited for another could wait for ever, as the number of sandboxes is bounded. Throws what `open` does. */
  openBoth(one: GradingTemplate, other: GradingTemplate, signal: AbortSignal): Promise<readonly [GradingSandbox, GradingSandbox]>;

  /**
   * A sandbox for the caller alone in which nothing but the task's own code has run, for other verdicts on this task: nothing of any submission
   * may be brought in. Files of before may be there. Throws what `open` does.
   */
  openTrusted(template: GradingTemplate, signal: AbortSignal): Promise<GradingSandbox>;

  /**
   * Files that a root file system of its own has below a directory, with the paths that they have inside: a directory that can be written to hides
   * them. None of the host's.
   *
   * @throws InputError when the root cannot be had, for links among them, and for more of them than a workdir may have.
   */
  rootFiles(root: RootFileSystem, directory: string, signal: AbortSignal): Promise<readonly WorkspaceFile[]>;
}
