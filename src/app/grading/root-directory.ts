import type { RootFileSystem } from '../../agents/tasks/task.ts';
import { InputError } from '../../kernel/errors.ts';

/**
 * The host's directory with a root file system.
 *
 * @returns undefined for the host's own system directories.
 * @throws InputError when it cannot be had, with the remedy.
 */
export async function rootDirectory(root: RootFileSystem, _stateDir: string, _signal: AbortSignal): Promise<string | undefined> {
  switch (root.kind) {
    case 'host':
      return undefined;
    case 'image':
      throw new InputError(
        'image.unsupported',
        `docker_image "${root.image}": root file systems of images are not supported yet; set root = "host" in muster.toml`,
      );
    case 'dockerfile':
      throw new InputError('image.no-builder', `${root.path}: nothing here builds it; set root = "host" in muster.toml`);
  }
}
