import { readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { TemplateContext, WorkspaceSettings } from '../../../pool/ports/provider-plugin.ts';
import type { Mount, SandboxTemplate } from '../../../pool/ports/template.ts';
import { SYNTHESISED_FILES } from '../local/host/inside-identity.ts';
import { listSystemFiles, readRootView, readSystemView, type SystemView } from '../local/template/system-view.ts';
import { createWorkspaceTemplate } from '../local/template/workspace-template.ts';
import { DockerPart, type DockerSettings } from './settings.ts';
import { nameSkeleton, type Skeleton } from './skeleton.ts';
import { isThere } from '../../files/path-contents.ts';

/**
 * Creates a workspace in a container. Its root file system is this machine's directories, or those of an image that Muster has unpacked, mounted
 * read-only entry by entry: the daemon needs none of a task's images.
 *
 * @throws InfrastructureError `python.unusable`.
 */
export async function createDockerWorkspace(
  name: string,
  settings: WorkspaceSettings,
  own: DockerSettings,
  context: TemplateContext,
): Promise<SandboxTemplate> {
  const template = await createWorkspaceTemplate(name, settings, context);
  const { mounts, skeleton } = settings.root === undefined ? await viewHost() : await viewRoot(settings.root);
  return {
    ...template,
    mounts: [...mounts, ...template.mounts],
    providerPart: new DockerPart({ ...own, archive: undefined, pull: 'never' }, nameSkeleton(skeleton), skeleton),
  };
}

interface RootView {
  readonly mounts: readonly Mount[];
  readonly skeleton: Skeleton;
}

async function viewHost(): Promise<RootView> {
  const system = await readSystemView();
  const present: Mount[] = [];
  for (const file of listSystemFiles('none')) if (await isThere(file)) present.push({ source: file, target: file });
  const files = Object.fromEntries(Object.entries(SYNTHESISED_FILES).map(([name, content]) => [`/etc/${name}`, content]));
  return { mounts: [...system.mounts, ...present], skeleton: { links: indexLinks(system), files } };
}

/** The daemon mounts files of its own into /etc, which therefore has to be a directory of the container. */
const DAEMONS_OWN: ReadonlySet<string> = new Set(['hosts', 'hostname', 'resolv.conf', 'mtab']);

async function viewRoot(root: string): Promise<RootView> {
  const system = await readRootView(root);
  const mounts = system.mounts.filter(({ target }) => target !== '/etc');
  const links: Record<string, string> = { ...indexLinks(system) };
  for (const entry of await listEntries(path.join(root, 'etc'))) {
    if (DAEMONS_OWN.has(entry.name)) continue;
    const source = path.join(root, 'etc', entry.name);
    if (entry.isSymbolicLink()) links[`/etc/${entry.name}`] = await readlink(source);
    else if (entry.isDirectory() || entry.isFile()) mounts.push({ source, target: `/etc/${entry.name}` });
  }
  return { mounts, skeleton: { links, files: {} } };
}

function indexLinks({ links }: SystemView): Readonly<Record<string, string>> {
  return Object.fromEntries(links.map(({ at, to }) => [at, to]));
}

async function listEntries(directory: string) {
  return (await isThere(directory)) ? readdir(directory, { withFileTypes: true }) : [];
}
