import { InputError } from '../../../kernel/errors.ts';
import type { PodTemplate } from '../../../pool/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/template.ts';

/** A template as it is configured. What is of this machine's Python and of forking means nothing in a pod. */
export interface PodTemplateSettings extends Omit<SandboxTemplate, 'name' | 'command' | 'zygote' | 'pod'> {
  /** `auto`: the image's `python3`. Otherwise the path of an interpreter in the image. */
  readonly python: string;
  readonly imports: readonly string[];
  /** A runner in another language. */
  readonly command?: readonly string[] | undefined;
  readonly start: 'auto' | 'forked' | 'plain';
  readonly kubernetes?: (Omit<PodTemplate, 'image'> & { readonly image?: string | undefined }) | undefined;
}

/** Where the image of deploy/docker/runner.Dockerfile has the runner. */
const RUNNER_IN_IMAGE = '/opt/muster/runner';

/**
 * What only allows something (`sharedPolicies`, `sharedCode`, `start: auto`) is not made use of; what demands something of this machine is
 * refused.
 *
 * @throws InputError `template.no-image`, `template.unforkable`, `template.mounts`.
 */
export async function podTemplate(name: string, settings: PodTemplateSettings): Promise<SandboxTemplate> {
  const { python, imports, command, environment, network, limits, demands, start, mounts, kubernetes } = settings;
  if (kubernetes?.image === undefined) {
    throw new InputError(
      'template.no-image',
      `template "${name}": with provider: kubernetes it has to name an image; set kubernetes.image`,
    );
  }
  if (start === 'forked') {
    throw new InputError('template.unforkable', `template "${name}": start is "forked", but pods are not forked; set start: auto`);
  }
  if (mounts.length > 0) {
    const remedy = 'put the files into the image, and set mounts: [] in this template';
    throw new InputError('template.mounts', `template "${name}": mounts are paths of this machine, which pods do not have; ${remedy}`);
  }
  const runner = [python === 'auto' ? 'python3' : python, '-I', RUNNER_IN_IMAGE, ...imports.flatMap((module) => ['--import', module])];
  const pod: PodTemplate = { ...kubernetes, image: kubernetes.image };
  return { name, command: command ?? runner, environment, mounts: [], network, limits, demands, pod };
}
