/**
 * A command for `spawn` that the kernel ends as soon as this process has ended, also by SIGKILL. For programs that do not end by themselves.
 *
 * @param signal that ends it: another one than KILL for a program that ends its own children when it receives it.
 */
export function dependent(command: string, args: readonly string[] = [], signal: 'KILL' | 'TERM' | 'INT' = 'KILL'): [string, string[]] {
  return ['setpriv', ['--pdeathsig', signal, command, ...args]];
}

/** Options for `fork`, to the same effect. */
export function dependentFork(flags: readonly string[] = process.execArgv): { readonly execPath: string; readonly execArgv: string[] } {
  const [execPath, execArgv] = dependent(process.execPath, flags);
  return { execPath, execArgv };
}
