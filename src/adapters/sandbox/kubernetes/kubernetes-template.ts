import { InputError } from '../../../kernel/errors.ts';
import type { PodTemplate } from '../../../pool/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/template.ts';
import type { PythonTemplateSettings } from '../local/python-template.ts';
import { remoteTemplate } from '../remote-template.ts';

/** As configured: the image is to be given, the rest has defaults. */
export interface PodSettings extends Omit<PodTemplate, 'image'> {
  readonly image?: string | undefined;
  /** The interpreter in the image. */
  readonly python: string;
}

/** @throws InputError `template.no-image`; `template.not-local` as `remoteTemplate` does. */
export function podTemplate(name: string, settings: PythonTemplateSettings, kubernetes: PodSettings): SandboxTemplate {
  const { image, python, ...pod } = kubernetes;
  if (image === undefined) {
    throw new InputError(
      'template.no-image',
      `template "${name}": with provider: kubernetes it has to name an image; set kubernetes.image`,
    );
  }
  return { ...remoteTemplate(name, settings, python), pod: { ...pod, image } };
}
