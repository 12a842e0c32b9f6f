import { InputError } from '../../kernel/errors.ts';
import type { WorkspaceSession } from './workspace-session.ts';

/** The longest time for one workspace, with all of its repositories. */
const SECONDS = 300;

/**
 * Handles each repository below the directory: removes every reference that is no ancestor of HEAD, resets the index to HEAD, and removes every
 * object that is then unreachable. The paths below are where git keeps further references.
 */
const SCRIPT = `set -eu
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
run() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' "$@"; }
prune() {
  cd "$1"
  # An empty directory is no file of a task, and git knows a repository by it.
  [ ! -d .git ] || mkdir -p .git/refs .git/objects
  directory=$(run rev-parse --absolute-git-dir)
  run for-each-ref --format='%(refname)' >/tmp/.muster-references
  : >/tmp/.muster-ancestors
  if run rev-parse -q --verify HEAD >/dev/null; then
    run for-each-ref --merged=HEAD --format='%(refname)' >/tmp/.muster-ancestors
    run reset -q --mixed
  else
    rm -f "$directory/index"
  fi
  { grep -vxF -f /tmp/.muster-ancestors /tmp/.muster-references || :; } | sed 's/^/delete /' | run update-ref --no-deref --stdin
  rm -f /tmp/.muster-references /tmp/.muster-ancestors
  rm -rf "$directory/logs" "$directory"/*_HEAD "$directory"/BISECT_* "$directory/worktrees" "$directory/rebase-merge" "$directory/rebase-apply"
  rm -rf "$directory"/objects/info/alternates "$directory"/objects/info/commit-graph* "$directory"/objects/pack/*.keep "$directory"/objects/pack/*.promisor
  run repack -a -d -q
  run prune --expire=now
}
find . -name .git -prune -print | while IFS= read -r found; do (prune "$(dirname "$found")"); done
`;

/**
 * Removes from the repositories of a workspace what is beyond HEAD: later commits, other branches, stashes. They may hold the solution.
 *
 * @throws InputError `task.history` when that cannot be done, and the workspace must not be used; InfrastructureError; the signal's reason.
 */
export async function pruneHistory(session: WorkspaceSession, directory: string, signal: AbortSignal): Promise<void> {
  const result = await session.run(
    {
      argv: ['/bin/sh', '-c', SCRIPT],
      directory,
      environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
      seconds: SECONDS,
      output: { head: 4096, tail: 4096, most: 2 ** 20 },
    },
    signal,
  );
  const { end } = result;
  if (end.kind === 'exited' && end.code === 0) return;
  const said = end.kind === 'unstartable' ? end.detail : result.stderr.tail.toString('utf8') || result.stderr.head.toString('utf8');
  const remedy = 'put git into the root file system, or leave the repository out';
  throw new InputError(
    'task.history',
    `${directory}: what its git repository holds beyond HEAD could not be removed (${end.kind}): ${said.slice(-500)}; ${remedy}`,
  );
}
