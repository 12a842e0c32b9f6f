import { once } from 'node:events';
import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { InfrastructureError, getMessage } from '../../../../kernel/errors.ts';
import { findProgram } from '../../local/host/find-program.ts';
import { INSIDE_UID } from '../../local/host/inside-identity.ts';
import { startLauncher } from '../../local/program/launcher.ts';

/**
 * The user and group on the host of sandboxes that root makes. They must own nothing there. The ids of distributions, useradd, /etc/subuid and LDAP
 * directories are below, systemd's containers end one before it, and its further ranges begin at 2147352576.
 */
export const OUTSIDE_UID = 0x7000_0000;

/** Root stays root until everything is mounted, as only root may reach some sources. Then a program becomes the second user. */
const MAP = `0 0 1\n${INSIDE_UID} ${OUTSIDE_UID} 1\n`;
/** Executed once the user is mapped, which gives it the privileges in the namespace. */
const FORBID_NESTED = 'echo 0 >/proc/sys/user/max_user_namespaces || exit 1; ';
const buildHoldScript = (prepare: string): string => `echo made; read -r _; exec /bin/sh -c '${prepare}echo ready; read -r _'`;

/** Gives sandboxes of root a user of their own. */
export interface OwnUser extends AsyncDisposable {
  /** User namespace of wardens, which make one in it for each sandbox. */
  readonly wardens: FileHandle;
  /** Becomes that user: path of setpriv(1). */
  readonly setpriv: string;
  /**
   * Makes the user namespace of one plain sandbox, in which no further ones can be made. Close it when the sandbox has started.
   *
   * @throws InfrastructureError
   */
  openPlain(): Promise<FileHandle>;
}

/** Whether this process is a root that can give its sandboxes another user: OUTSIDE_UID has to be mapped in its user namespace. */
export async function isNeeded(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const maps = await Promise.all(['uid_map', 'gid_map'].map((name) => readFile(`/proc/self/${name}`, 'utf8')));
  return maps.every((map) => map.trim().split('\n').some(hasOurs));
}

function hasOurs(line: string): boolean {
  const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
  return first <= OUTSIDE_UID && OUTSIDE_UID < first + count;
}

/** @throws InfrastructureError `sandbox.unavailable` */
export async function openOwnUser(): Promise<OwnUser> {
  const setpriv = await findProgram('setpriv');
  const unshare = await findProgram('unshare');
  if (!setpriv || !unshare) throw createUnavailableError('setpriv and unshare are not both installed; install util-linux');
  const wardens = await openUserNamespace(unshare, '');
  return {
    wardens,
    setpriv,
    openPlain: () => openUserNamespace(unshare, FORBID_NESTED),
    [Symbol.asyncDispose]: () => wardens.close(),
  };
}

/** Returns the path by which a process that root starts can open a file that this process has open. */
export function getPath({ fd }: FileHandle): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

/** Opens a file that keeps a new namespace alive after the process that was made with it has ended. */
async function openUserNamespace(unshare: string, prepare: string): Promise<FileHandle> {
  const holder = await startLauncher('exec "$@"', [unshare, '--user', '--', '/bin/sh', '-c', buildHoldScript(prepare)], []);
  const ended = Promise.all([once(holder.process, 'close'), text(holder.stderr)]);
  // Its end is awaited below in every case.
  ended.catch(() => undefined);
  holder.stdin.on('error', () => {});
  try {
    const lines = createInterface({ input: holder.stdout })[Symbol.asyncIterator]();
    await readLine(lines);
    const place = `/proc/${holder.pid}`;
    for (const map of ['uid_map', 'gid_map']) await writeFile(`${place}/${map}`, MAP);
    holder.stdin.write('\n');
    await readLine(lines);
    return await open(`${place}/ns/user`, 'r');
  } catch (error) {
    holder.process.kill('SIGKILL');
    const [, said] = await ended;
    throw createUnavailableError(said.trim() || getMessage(error), error);
  } finally {
    holder.process.kill('SIGKILL');
    await ended;
  }
}

async function readLine(lines: AsyncIterator<string>): Promise<void> {
  if ((await lines.next()).done === true) throw new Error('the process that holds the namespace has ended');
}

function createUnavailableError(detail: string, cause?: unknown): InfrastructureError {
  const problem = `root's sandboxes get the user and group ${OUTSIDE_UID}, and no user namespace could be made that has them: ${detail}`;
  return new InfrastructureError('sandbox.unavailable', `${problem}; or run Muster as an ordinary user`, { cause });
}
