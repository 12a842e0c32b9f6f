import { readFile, statfs } from 'node:fs/promises';
import { makeDirectory } from '../../adapters/files/made-directory.ts';
import { toOkFinding, type HealthCheck } from '../../kernel/health-check.ts';
import { getMessage } from '../../kernel/errors.ts';

/** Checks of the machine itself, independent of the provider. Each takes its input as an argument, so that tests can vary it. */

const OLDEST_NODE = [24, 12] as const;

export function createNodeCheck(version: string): HealthCheck {
  return {
    name: 'Node',
    async run() {
      const [major = 0, minor = 0] = version.split('.').map(Number);
      const isNew = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
      if (isNew) return toOkFinding(version);
      return {
        status: 'problem',
        found: `${version}; ${OLDEST_NODE.join('.')} or newer is needed`,
        remedy: 'start Muster on a newer Node: npm install node@24 beside it; in a checkout, npm run setup, then ./muster',
      };
    },
  };
}

/** A checkpoint of some gigabytes, and a few more. */
const COMFORTABLE_BYTES = 10 * 2 ** 30;
const LEAST_BYTES = 2 ** 30;

export function createDiskCheck(stateDir: string): HealthCheck {
  return {
    name: 'disk',
    async run() {
      try {
        await makeDirectory(stateDir);
      } catch (error) {
        return {
          status: 'problem',
          found: getMessage(error),
          remedy: 'set stateDir (MUSTER_STATE_DIR) to a directory that this user may write to',
        };
      }
      const { bavail, bsize } = await statfs(stateDir);
      const free = bavail * bsize;
      const found = `${(free / 2 ** 30).toFixed(1)} GiB free at ${stateDir}`;
      if (free >= COMFORTABLE_BYTES) return toOkFinding(found);
      return { status: free < LEAST_BYTES ? 'problem' : 'warning', found, remedy: 'free some space, or set stateDir to a larger disk' };
    },
  };
}

/** Pipes, cgroup and inbox files of one sandbox, with a margin. */
const FILES_PER_SANDBOX = 12;
const FILES_FOR_MUSTER = 256;

/** @param limits the text of /proc/self/limits. Node raises its soft limit to the hard one at start. */
export function openFilesCheck(
  maxSandboxes: number,
  limits: () => Promise<string> = () => readFile('/proc/self/limits', 'utf8'),
): HealthCheck {
  return {
    name: 'open files',
    async run() {
      const soft = /^Max open files\s+(\d+|unlimited)/m.exec(await limits())?.[1];
      if (soft === undefined)
        return { status: 'warning', found: 'the limit could not be read', remedy: 'expected "Max open files" in /proc/self/limits' };
      const limit = soft === 'unlimited' ? Infinity : Number(soft);
      const needed = FILES_FOR_MUSTER + FILES_PER_SANDBOX * maxSandboxes;
      const found = `${soft} at a time, ${needed} needed for ${maxSandboxes} sandboxes`;
      if (limit >= needed) return toOkFinding(found);
      const most = Math.floor((limit - FILES_FOR_MUSTER) / FILES_PER_SANDBOX);
      if (most < 1) return { status: 'problem', found, remedy: `raise the limit: ulimit -Hn ${needed} (as root)` };
      return { status: 'warning', found, remedy: `raise the limit: ulimit -Hn ${needed} (as root), or set pool.max to ${most} or less` };
    },
  };
}

export function createUserCheck(uid: number | undefined): HealthCheck {
  return {
    name: 'user',
    async run() {
      if (uid !== 0) return toOkFinding(`ordinary user${uid === undefined ? '' : ` (uid ${uid})`}`);
      const found = 'root: Muster, and what makes its sandboxes, can do anything to the machine';
      return { status: 'warning', found, remedy: 'run Muster as an ordinary user, as a further protection' };
    },
  };
}
