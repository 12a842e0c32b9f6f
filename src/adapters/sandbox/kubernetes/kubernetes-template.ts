import { InputError } from '../../../kernel/errors.ts';
import type { DialBackSettings, PodTemplate, PodTransport } from '../../../pool/pod-template.ts';
import type { SandboxTemplate } from '../../../pool/template.ts';
import type { PythonTemplateSettings } from '../local/python-template.ts';
import { remoteTemplate } from '../remote-template.ts';

/** As configured: the image is to be given, the rest has defaults. */
export interface PodSettings extends Omit<PodTemplate, 'image' | 'transport'> {
  readonly image?: string | undefined;
  /** The interpreter in the image. */
  readonly python: string;
  readonly transport: PodTransport['kind'];
  readonly dialBack: Omit<DialBackSettings, 'kind' | 'python'>;
}

/** @throws InputError `template.no-image`; `template.not-local` as `remoteTemplate` does. */
export function podTemplate(name: string, settings: PythonTemplateSettings, kubernetes: PodSettings): SandboxTemplate {
  const { image, python, transport, dialBack, ...pod } = kubernetes;
  if (image === undefined) {
    throw new InputError(
      'template.no-image',
      `template "${name}": with provider: kubernetes it has to name an image; set kubernetes.image`,
    );
  }
  return { ...remoteTemplate(name, settings, python), pod: { ...pod, image, transport: transportOf(transport, dialBack, python) } };
}

function transportOf(kind: PodTransport['kind'], dialBack: PodSettings['dialBack'], python: string): PodTransport {
  return kind === 'exec' ? { kind } : { kind, python, ...dialBack };
}
