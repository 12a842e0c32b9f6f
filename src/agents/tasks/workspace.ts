import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import type { Problem } from '../../kernel/documents/problems.ts';
import { assertSound } from './declaration.ts';
import { findDockerfileWorkdir } from './dockerfile-workdir.ts';
import type { HarborArtifact, HarborEnvironment } from './harbor-schema.ts';
import type { MusterTask } from './muster-schema.ts';
import { isPlainPath, RELATIVE_PATH_EXPECTED } from './relative-path.ts';
import { DOCKERFILE } from './task-directory.ts';
import type { Artifact, Limits, Network, RootFileSystem, Workspace } from './task.ts';

const DEFAULT_WORKDIR = '/app';
const COMPOSE_FILES = ['environment/docker-compose.yaml', 'environment/docker-compose.yml'];
const ALWAYS_EXPORTED = '/logs/artifacts';
const UNITS: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

interface TaskLocation {
  /** Names `task.toml` for messages. */
  readonly where: string;
  readonly paths: ReadonlySet<string>;
  /** Text of its Dockerfile. */
  readonly dockerfile: string | undefined;
}

/** @throws InputError `task.invalid` when the requested root file system does not exist. */
export function readWorkspace(place: TaskLocation, environment: HarborEnvironment, asked: MusterTask['workspace']): Workspace {
  const root = getRoot(place, environment, asked.root);
  const built = root.kind === 'dockerfile' ? findDockerfileWorkdir(place.dockerfile ?? '') : undefined;
  const declared = asked.workdir ?? environment.workdir;
  const workdir = declared ?? built ?? DEFAULT_WORKDIR;
  return {
    root: root.kind === 'host' || declared !== undefined ? root : { ...root, assumedWorkdir: workdir },
    workdir,
    environment: environment.env,
    network: readNetwork(environment, { mode: environment.allow_internet === false ? 'none' : 'public' }),
  };
}

function getRoot(
  { where, paths }: TaskLocation,
  environment: HarborEnvironment,
  asked: RootFileSystem['kind'] | undefined,
): RootFileSystem {
  const { docker_image: image, build_timeout_sec: buildSeconds, os } = environment;
  const composes = COMPOSE_FILES.filter((path) => paths.has(path));
  const hasDockerfile = paths.has(DOCKERFILE);
  const kind = asked ?? (image !== undefined ? 'image' : hasDockerfile ? 'dockerfile' : 'host');
  const problems: Problem[] = [];
  const refuse = (path: readonly string[], text: string): unknown => problems.push({ path, text, isAbsence: false });
  if (os !== 'linux') refuse(['environment', 'os'], `expected "linux", got "${os}"; sandboxes run Linux`);
  if (composes.length > 0 && kind !== 'host')
    refuse(['environment'], `${composes[0]}: services beside the workspace are not supported; give docker_image or a Dockerfile`);
  if (kind === 'image' && image === undefined) refuse(['environment', 'docker_image'], 'is missing; muster.toml asks for root "image"');
  if (kind === 'dockerfile' && !hasDockerfile) refuse(['environment'], `${DOCKERFILE} is missing; muster.toml asks for root "dockerfile"`);
  assertSound({ findOrigin: () => where }, problems);
  switch (kind) {
    case 'host':
      return { kind };
    case 'image':
      return { kind, image: image ?? '', assumedWorkdir: undefined };
    case 'dockerfile':
      return { kind, path: DOCKERFILE, buildSeconds, assumedWorkdir: undefined };
  }
}

interface NetworkSettings {
  readonly network_mode?: 'public' | 'no-network' | 'allowlist' | undefined;
  readonly allowed_hosts?: readonly string[] | undefined;
}

/** @param otherwise the value when nothing is given. */
export function readNetwork({ network_mode: mode, allowed_hosts: hosts = [] }: NetworkSettings, otherwise: Network): Network {
  switch (mode) {
    case 'public':
      return { mode: 'public' };
    case 'no-network':
      return { mode: 'none' };
    case 'allowlist':
      return { mode: 'allowlist', hosts };
    case undefined:
      return otherwise;
  }
}

/** @throws InputError `task.invalid` for a deprecated size that is no size. */
export function readLimits(where: string, { cpus, memory, memory_mb, storage, storage_mb }: HarborEnvironment): Limits {
  return {
    cpus,
    memoryBytes: memory_mb === undefined ? parseDeprecatedSize(where, 'memory', memory) : memory_mb * 2 ** 20,
    storageBytes: storage_mb === undefined ? parseDeprecatedSize(where, 'storage', storage) : storage_mb * 2 ** 20,
  };
}

function parseDeprecatedSize(where: string, key: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const { amount, unit = '' } = /^(?<amount>\d{1,9}(\.\d{1,3})?)(?<unit>[KMGT])(i?B)?$/i.exec(text)?.groups ?? {};
  const bytes = Math.round(Number(amount) * (UNITS[unit.toUpperCase()] ?? Number.NaN));
  const problem = { path: ['environment', key], text: `expected a size such as "2G", got ${JSON.stringify(text)}`, isAbsence: false };
  assertSound({ findOrigin: () => where }, bytes >= 1 ? [] : [problem]);
  return bytes;
}

/**
 * Reads the artifacts that the task declares, or the whole workdir when it declares none; also `/logs/artifacts`, as in Harbor.
 *
 * @throws InputError `task.invalid` for paths that leave their directory, and for two artifacts with one destination.
 */
export function readArtifacts(where: string, declared: readonly HarborArtifact[], workdir: string): readonly Artifact[] {
  const problems: Problem[] = [];
  const given = declared.map((artifact, at) => getArtifact(artifact, ['artifacts', at], workdir, problems));
  const all = given.length > 0 ? given : [{ source: workdir, destination: '.', exclude: [], isRequired: false }];
  const destinations = new Set<string>();
  for (const { destination } of all) {
    if (destinations.has(destination))
      problems.push({
        path: ['artifacts'],
        text: `two artifacts have the destination "${destination}"; expected different ones`,
        isAbsence: false,
      });
    destinations.add(destination);
  }
  assertSound({ findOrigin: () => where }, problems);
  if (all.some(({ source }) => source === ALWAYS_EXPORTED)) return all;
  return [...all, { source: ALWAYS_EXPORTED, destination: 'logs/artifacts', exclude: [], isRequired: false }];
}

function getArtifact(declared: HarborArtifact, path: readonly (string | number)[], workdir: string, problems: Problem[]): Artifact {
  const { source, destination, exclude, service } =
    typeof declared === 'string' ? { source: declared, destination: undefined, exclude: [], service: undefined } : declared;
  const absolute = (source.startsWith('/') ? source : `${workdir}/${source}`).replace(/\/+$/, '');
  const target = (destination ?? getDestination(absolute, workdir)).replace(/\/+$/, '');
  if (!isPlainPath(absolute.slice(1))) problems.push({ path, text: `${RELATIVE_PATH_EXPECTED}, got "${source}"`, isAbsence: false });
  if (target !== '.' && !isPlainPath(target))
    problems.push({ path, text: `destination: ${RELATIVE_PATH_EXPECTED}, got "${target}"`, isAbsence: false });
  if (service !== undefined && service !== 'main')
    problems.push({ path, text: `service: there is "main" only, got "${service}"${suggestNames(service, ['main'])}`, isAbsence: false });
  return { source: absolute, destination: target, exclude, isRequired: true };
}

/** A submission's directory looks like the workdir. */
function getDestination(absolute: string, workdir: string): string {
  if (absolute === workdir) return '.';
  return absolute.startsWith(`${workdir}/`) ? absolute.slice(workdir.length + 1) : absolute.slice(1);
}
