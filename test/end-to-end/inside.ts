import { access } from 'node:fs/promises';
import path from 'node:path';
import { childrenOf, killProcess, listProcesses, type RunningProcess } from '../../src/adapters/sandbox/local/process-table.ts';
import { RUNNER_INSIDE } from '../../src/adapters/sandbox/local/python-template.ts';

/** The runner's process in one sandbox, as the host sees it. */
export class RunnerInside {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Whether an environment in it has come to the closed gate (suites/environments/gates.py). */
  async isAt(gate: string): Promise<boolean> {
    return exists(`/proc/${this.#pid}/root/tmp/at-${gate}`);
  }

  kill(): void {
    killProcess(this.#pid);
  }
}

/** Python runners in the sandboxes of a state directory, in the order of the sandboxes' process ids. */
export async function runnersInside(stateDir: string): Promise<readonly RunnerInside[]> {
  const processes = new Map((await listProcesses()).map((found) => [found.pid, found]));
  const sandboxes = [...processes.values()].filter(({ argv }) => argv.some((word) => word.startsWith(path.join(stateDir, 'sandboxes'))));
  const below = await Promise.all(sandboxes.map(async ({ pid }) => (await childrenOf(pid)) ?? []));
  const children = below.flat().flatMap((pid) => processes.get(pid) ?? []);
  return children.filter(isRunner).map(({ pid }) => new RunnerInside(pid));
}

/** Not bubblewrap, which has the runner's command line as the end of its own. */
function isRunner({ argv }: RunningProcess): boolean {
  return argv.includes(RUNNER_INSIDE) && !argv.includes('--die-with-parent') && argv[0]?.includes('python') === true;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
