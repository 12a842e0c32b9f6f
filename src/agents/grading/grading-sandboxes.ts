import type { Mount } from '../../pool/ports/template.ts';
import type { RootFileSystem } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';

export interface GradingTemplate {
  readonly root: RootFileSystem;
  /** Directories that can be written to, besides /tmp and /dev/shm. */
  readonly writable: readonly string[];
  readonly limits: GradingLimits;
  /** Read-only mounts for the tests. */
  readonly tools: readonly GradingTool[];
}

/**
 * `pytest` mounts the modules of `python3 -m pytest` at `PYTEST_INSIDE`, for this machine's own root file system. `go` mounts Go's own packages, in
 * compiled form, at `GO_BUILD_INSIDE`. A mount brings files of a preparation.
 */
export type GradingTool = 'pytest' | 'go' | Mount;
export const PYTEST_INSIDE = '/muster/pytest';
export const GO_BUILD_INSIDE = '/muster/go-build';

/** A limit that is undefined has the configured value. */
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

export interface GradingSandboxes {
  /**
   * Opens a new sandbox for the caller alone. Disposing it removes it.
   *
   * @throws InputError when a sandbox cannot be made as the template declares it; InfrastructureError; the signal's reason.
   */
  open(template: GradingTemplate, signal: AbortSignal): Promise<GradingSandbox>;

  /** Opens two together: opening one while holding another could wait forever, as the number of sandboxes is bounded. Throws as `open` does. */
  openBoth(one: GradingTemplate, other: GradingTemplate, signal: AbortSignal): Promise<readonly [GradingSandbox, GradingSandbox]>;

  /**
   * Opens a sandbox for the caller alone in which only the task's own code has run. It is kept for other verdicts on this task, so nothing of any
   * submission may enter it. Earlier files may be there. Throws as `open` does.
   *
   * @param next the template that the caller will open next: such a sandbox is made meanwhile.
   */
  openTrusted(template: GradingTemplate, signal: AbortSignal, next?: GradingTemplate): Promise<GradingSandbox>;

  /**
   * Lists the files of a root file system below a directory, with their paths inside: a writable directory hides them. It lists none of the host's
   * root.
   *
   * @throws InputError when the root is not available, for links among them, and for more of them than a workdir may have.
   */
  rootFiles(root: RootFileSystem, directory: string, signal: AbortSignal): Promise<readonly WorkspaceFile[]>;
}
