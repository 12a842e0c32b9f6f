import { z } from 'zod';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { DialBackSettings } from '../kubernetes/settings/pod-template.ts';
import { dialBackSchema } from '../kubernetes/settings/schema.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';

const absolutePath = z.string().regex(/^(\/[^/\0]+)+$/, 'expected an absolute path');

/** A template's further settings when its provider is `cloud-build`. */
export const cloudBuildSchema = z
  .strictObject({
    project: z
      .string()
      .regex(/^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/, 'expected the id of a project of Google Cloud')
      .optional()
      .describe('where the builds run; has to be given with provider: cloud-build'),
    region: z
      .string()
      .regex(/^[a-z][a-z0-9-]{1,62}$/, 'expected a region such as europe-west1, or global')
      .describe('region in which builds run'),
    image: z
      .string()
      .regex(/^[\w][\w./:@-]{0,999}$/, 'expected a reference such as europe-docker.pkg.dev/my-project/muster/workspace:0.1.0')
      .optional()
      .describe('of deploy/docker/cloud-build.Dockerfile; has to be given with provider: cloud-build'),
    serviceAccount: z
      .email({ error: 'expected the e-mail address of a service account' })
      .optional()
      .describe('whose identity builds have; it may have no roles; has to be given with provider: cloud-build'),
    machineType: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]{2,63}$/, 'expected a machine type such as E2_HIGHCPU_8')
      .optional()
      .describe('of the default pool; its smallest where this is left out'),
    workerPool: z
      .string()
      .regex(/^projects\/[^/]+\/locations\/[^/]+\/workerPools\/[^/]+$/, 'expected projects/PROJECT/locations/REGION/workerPools/POOL')
      .optional()
      .describe('a private pool, whose builds reach addresses of a VPC'),
    queueSeconds: z.number().positive().max(86_400).describe('how long a build may wait for a machine'),
    python: z.string().min(1).max(1000).describe('the interpreter in the image: a path, or a name that is looked up in PATH'),
    visible: z.array(absolutePath).min(1).max(64).describe('directories of the image that programs see, read-only'),
    dialBack: dialBackSchema.describe('how builds reach Muster'),
    endpoint: z
      .url({ protocol: /^https?$/, error: 'expected https:// or http://, and a host' })
      .describe('of the Cloud Build API; one with http:// gets no credentials'),
  })
  .describe('builds of Google Cloud Build as sandboxes; used with provider: cloud-build');

export type CloudBuildSettings = z.infer<typeof cloudBuildSchema>;

/** What builds are made of. */
export interface BuildTemplate extends Omit<CloudBuildSettings, 'project' | 'image' | 'serviceAccount' | 'dialBack'> {
  readonly project: string;
  readonly image: string;
  readonly serviceAccount: string;
  readonly dialBack: DialBackSettings;
}

/** The provider's part of a template. */
export class BuildPart {
  readonly build: BuildTemplate;

  constructor(build: BuildTemplate) {
    this.build = build;
  }
}

/** @throws InfrastructureError when the template has no settings for builds: it was made for another provider. */
export function getBuild({ name, providerPart }: SandboxTemplate): BuildTemplate {
  if (providerPart instanceof BuildPart) return providerPart.build;
  throw new InfrastructureError('template.no-build', `template "${name}" has no settings for builds`);
}
