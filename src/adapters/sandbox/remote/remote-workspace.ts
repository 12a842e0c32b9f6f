import { InputError } from '../../../kernel/errors.ts';
import type { WorkspaceSettings } from '../../../pool/ports/provider-plugin.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { RUNNER_INSIDE } from '../local/template/python-template.ts';

/** A provider's words about its workspaces, for people. */
export interface RemotePlace {
  /** The interpreter inside. */
  readonly python: string;
  /** The name of its sandboxes: `builds`, `pods`, … */
  readonly sandboxes: string;
  /** The setting that names what they are made of. */
  readonly image: string;
}

/**
 * Creates a remote workspace. Its root file system is that of the provider's sandboxes. Mounts come from this machine, and are uploaded.
 *
 * @throws InputError `template.not-local`.
 */
export function createRemoteWorkspace(
  name: string,
  { root, writable, limits, demands, mounts, start }: WorkspaceSettings,
  { python, sandboxes, image }: RemotePlace,
): SandboxTemplate {
  if (root !== undefined) {
    const remedy = `set ${image} to one that has the files, and leave docker_image and the Dockerfile out of the task`;
    throw new InputError('template.not-local', `the task has an image of its own, which ${sandboxes} do not have; ${remedy}`);
  }
  if (start === 'forked') {
    throw new InputError('template.not-local', `templates.local.start is forked, but ${sandboxes} cannot be forked; set it to auto`);
  }
  const places = ['/tmp', '/dev/shm', ...writable];
  return {
    name,
    command: [python, '-I', '-S', '-B', `${RUNNER_INSIDE}/workspace.py`, ...places.flatMap((each) => ['--writable', each])],
    environment: {},
    mounts,
    network: 'none',
    limits,
    demands,
    workspace: { root, writable },
  };
}
