import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { INSIDE_UID } from '../local/host/inside-identity.ts';
import type { OwnerProcess } from '../local/owner-record.ts';
import { divideWritableSpace } from '../local/template/writable-space.ts';
import { INBOX } from '../upload-path.ts';
import { createLabels } from './ownership.ts';
import type { DockerPart } from './settings.ts';

/** The user `nobody` where Muster is root; otherwise Muster's own user, which owns the files of the inbox. */
const NOBODY = 65_534;
const NANOSECONDS = 1e9;

export interface ContainerPlan {
  readonly owner: OwnerId;
  readonly id: SandboxId;
  readonly template: SandboxTemplate;
  readonly part: DockerPart;
  readonly process: OwnerProcess;
  /** Host directory that is the sandbox's inbox. */
  readonly inbox: string;
}

export function nameContainer(owner: OwnerId, id: SandboxId): string {
  return `${owner}-${id}`;
}

/** Options in the form of the Docker Engine API. */
export type ContainerOptions = Readonly<Record<string, unknown>>;

/** Builds the request to the daemon: only what the template says, on top of the image. */
export function buildContainerOptions({ owner, id, template, part, process: self, inbox }: ContainerPlan): ContainerOptions {
  const { limits, environment, workspace } = template;
  const writable = ['/tmp', ...(workspace?.writable ?? [])];
  const { tmpBytes, sharedBytes } = divideWritableSpace(limits, writable.length);
  const places = Object.fromEntries(writable.map((place) => [place, formatTmpfs(tmpBytes)]));
  const binds = [...template.mounts, { source: inbox, target: INBOX }].map(({ source, target }) => readOnlyBind(source, target));
  return {
    Image: part.image,
    // Whatever the image would start besides.
    Entrypoint: [...template.command],
    Cmd: [],
    Env: Object.entries({ HOME: '/tmp', TMPDIR: '/tmp', ...environment }).map(([name, value]) => `${name}=${value}`),
    User: getInsidePath(workspace === undefined ? NOBODY : INSIDE_UID),
    WorkingDir: '/tmp',
    Labels: createLabels(owner, id, template, self),
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    HostConfig: {
      // A first process that forwards signals, and reports how the program ended. That of a workspace does so itself.
      Init: workspace === undefined,
      NetworkMode: 'none',
      IpcMode: 'none',
      ReadonlyRootfs: true,
      // Masked completely: by default a program may write some of the kernel's settings of its own processes there.
      ReadonlyPaths: ['/proc'],
      Tmpfs: { ...places, '/dev/shm': formatTmpfs(sharedBytes), '/dev/mqueue': NO_QUEUES },
      Mounts: binds,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: Math.round(limits.cpus * NANOSECONDS),
      // The first process counts.
      PidsLimit: limits.processes + 1,
      RestartPolicy: { Name: 'no' },
      // Its output is for Muster to read, and must not fill a disk.
      LogConfig: { Type: 'none', Config: {} },
      ...(part.runtime === undefined ? {} : { Runtime: part.runtime }),
    },
  };
}

/** @param ofRoot the user inside where Muster is root. */
function getInsidePath(ofRoot: number): string {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return uid === 0 ? `${ofRoot}:${ofRoot}` : `${uid}:${gid}`;
}

/** Hides the message queues, which would be writable. */
const NO_QUEUES = 'ro,size=4k,mode=555';

function formatTmpfs(bytes: number): string {
  return `rw,exec,nosuid,nodev,size=${bytes},mode=1777`;
}

/** The bind excludes mounts below the source: the daemon would leave those writable. */
const BIND_OPTIONS = { Propagation: 'private', NonRecursive: true } as const;

function readOnlyBind(source: string, target: string): object {
  return { Type: 'bind', Source: source, Target: target, ReadOnly: true, BindOptions: BIND_OPTIONS };
}
