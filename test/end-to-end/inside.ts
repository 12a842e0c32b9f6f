import { access } from 'node:fs/promises';
import path from 'node:path';
import { killProcess } from '../../src/adapters/sandbox/local/host/process-table.ts';
import { listChildren, listProcesses, readProcessFile, type ListedProcess } from '../support/process-table.ts';
import { RUNNER_INSIDE } from '../../src/adapters/sandbox/local/template/python-template.ts';

/** The runner's process in one sandbox, as the host sees it. */
export class RunnerInside {
  readonly pid: number;

  constructor(pid: number) {
    this.pid = pid;
  }

  /** Whether an environment in it stands at the closed gate (suites/environments/gates.py). */
  async isAt(gate: string): Promise<boolean> {
    return exists(`/proc/${this.pid}/root/tmp/at-${gate}`);
  }

  kill(): void {
    killProcess(this.pid);
  }
}

/** Python runners in the sandboxes of a state directory, in the order of the sandboxes' process ids. */
export function runnersInside(stateDir: string): readonly RunnerInside[] {
  const processes = new Map(listProcesses().map((found) => [found.pid, found]));
  const sandboxes = [...processes.values()].filter(({ argv }) => argv.some((word) => word.startsWith(path.join(stateDir, 'sandboxes'))));
  // A plain one is the child of its sandbox's first process, whose parent is bubblewrap.
  const first = sandboxes.flatMap(({ pid }) => listChildren(pid));
  const programs = first.flatMap(listChildren).flatMap((pid) => processes.get(pid) ?? []);
  const plain = programs.filter(isRunner).map(({ pid }) => pid);
  const zygotes = [...processes.values()].filter(({ argv }) => argv.some((word) => word.endsWith('/zygote.py')));
  const forked = zygotes.map(({ pid }) => pid).filter((pid) => isForkedRunner(pid, stateDir));
  return [...plain, ...forked].map((pid) => new RunnerInside(pid));
}

/** A forked program has its zygote's command line, the inbox of its sandbox, and the second process id in it. */
function isForkedRunner(pid: number, stateDir: string): boolean {
  // The beginning of the path is missing where it is a mount of its own.
  const place = RegExp.escape(stateDir.split('/').slice(-2).join('/'));
  const inbox = new RegExp(String.raw`${place}/sandboxes/[^/]+/s\d+/inbox /muster/inbox `);
  return inbox.test(readProcessFile(pid, 'mountinfo')) && /^NSpid:\t.*\t2$/m.test(readProcessFile(pid, 'status'));
}

/** Not one of those before it, which have the runner's command line as the end of their own. */
function isRunner({ argv }: ListedProcess): boolean {
  return argv.includes(RUNNER_INSIDE) && argv[0]?.includes('python') === true;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
