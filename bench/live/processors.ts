import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Those that this process may run on. */
export function listProcessors(): readonly number[] {
  const list = /^Cpus_allowed_list:\s*(?<list>\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.groups?.['list'] ?? '';
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

/** Keeps all threads of a process on these, and what it starts later. Undone when disposed of: for the process itself. */
export function keepOn(processors: readonly number[], pid: number): Disposable {
  const before = listProcessors();
  setProcessors(processors, pid);
  return { [Symbol.dispose]: () => setProcessors(before, pid) };
}

function setProcessors(processors: readonly number[], pid: number): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processors.join(','), String(pid)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
