import { z } from 'zod';
import type { Skeleton } from './skeleton.ts';

const absolutePath = z.string().regex(/^\/[^\0]*$/, 'expected an absolute path');

/** A template's further settings when its provider is `docker`. */
export const dockerSchema = z
  .strictObject({
    socket: z
      .union([z.literal('auto'), absolutePath], { error: 'expected "auto" or the absolute path of the daemon’s socket' })
      .describe('"auto": that of $DOCKER_HOST where it is unix://…, else /var/run/docker.sock'),
    image: z
      .string()
      .regex(/^[\w][\w./:@-]{0,999}$/, 'expected a reference such as registry.example.com/muster-runner:0.1.0, or an image’s id')
      .optional()
      .describe('has Python and what the runner imports; has to be given with provider: docker'),
    archive: absolutePath.optional().describe('file that "docker save" wrote, loaded when the daemon does not have the image'),
    pull: z.enum(['missing', 'never']).describe('missing: from its registry, when neither the daemon nor an archive has the image'),
    python: z
      .string()
      .regex(/^[^\0]+$/, 'expected the name or the path of an interpreter')
      .describe('the interpreter in the image: a path, or a name that is looked up in PATH'),
    runtime: z
      .string()
      .regex(/^[\w.-]{1,128}$/, 'expected the name of a runtime that the daemon knows')
      .optional()
      .describe('gVisor (runsc), Kata: as the daemon calls it; its default one where this is left out'),
  })
  .describe('containers of this machine’s Docker daemon as sandboxes; used with provider: docker');

export type DockerSettings = z.infer<typeof dockerSchema>;

/** The provider's part of a template, from which containers are made. */
export class DockerPart {
  /** Path of the daemon's socket. */
  readonly socket: string;
  readonly image: string;
  readonly archive: string | undefined;
  readonly pull: 'missing' | 'never';
  readonly runtime: string | undefined;
  /** The content of the image where Muster makes it itself. */
  readonly skeleton: Skeleton | undefined;

  constructor({ socket, archive, pull, runtime }: Omit<DockerSettings, 'image' | 'python'>, image: string, skeleton?: Skeleton) {
    this.socket = resolveSocketPath(socket, process.env['DOCKER_HOST']);
    this.image = image;
    this.archive = archive;
    this.pull = pull;
    this.runtime = runtime;
    this.skeleton = skeleton;
  }
}

const UNIX = 'unix://';

/** @param host of the environment's DOCKER_HOST. Inboxes are directories of this machine, so a daemon on another machine cannot be used. */
export function resolveSocketPath(socket: string, host: string | undefined): string {
  if (socket !== 'auto') return socket;
  return host?.startsWith(UNIX) === true ? host.slice(UNIX.length) : '/var/run/docker.sock';
}
