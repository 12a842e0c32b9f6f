import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { Mount, SandboxTemplate } from '../../../../pool/ports/template.ts';
import { hasErrno } from '../../../../kernel/errno.ts';

const SYSTEM_DIRECTORIES = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** The files that the dynamic linker and the C library read, and nothing about the host's users or services. */
const SYSTEM_FILES = ['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives', '/etc/localtime'];
const NETWORK_FILES = ['/etc/resolv.conf', '/etc/ssl/certs', '/etc/ca-certificates', '/etc/pki/tls/certs', '/etc/services'];

/** The host's system directories as every sandbox sees them: links here are links inside. */
export interface SystemView {
  readonly mounts: readonly Mount[];
  readonly links: readonly Link[];
}

interface Link {
  readonly at: string;
  readonly to: string;
}

/** Does not change while the machine runs. */
export async function readSystemView(): Promise<SystemView> {
  const mounts: Mount[] = [{ source: '/usr', target: '/usr' }];
  const links: Link[] = [];
  for (const directory of SYSTEM_DIRECTORIES) {
    try {
      if ((await lstat(directory)).isSymbolicLink()) links.push({ at: directory, to: await readlink(directory) });
      else mounts.push({ source: directory, target: directory });
    } catch (error) {
      if (!hasErrno(error, 'ENOENT')) throw error;
    }
  }
  return { mounts, links };
}

/** Made for each sandbox, whatever the root file system has there. */
const OWN_DIRECTORIES: ReadonlySet<string> = new Set(['dev', 'proc', 'sys', 'tmp', 'muster']);

/** Reads how a sandbox sees another root file system: entry by entry, so that there is room for mounts beside them. */
export async function readRootView(root: string): Promise<SystemView> {
  const mounts: Mount[] = [];
  const links: Link[] = [];
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (OWN_DIRECTORIES.has(entry.name)) continue;
    const source = path.join(root, entry.name);
    if (entry.isSymbolicLink()) links.push({ at: `/${entry.name}`, to: await readlink(source) });
    else if (entry.isDirectory() || entry.isFile()) mounts.push({ source, target: `/${entry.name}` });
  }
  return { mounts, links };
}

/** Lists the host's files in /etc that a sandbox sees, where the host has them. */
export function listSystemFiles(network: SandboxTemplate['network']): readonly string[] {
  return network === 'host' ? [...SYSTEM_FILES, ...NETWORK_FILES] : SYSTEM_FILES;
}
