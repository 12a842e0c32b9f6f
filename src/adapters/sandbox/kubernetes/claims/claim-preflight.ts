import { InputError } from '../../../../kernel/errors.ts';
import type { ClaimSettings, PodTemplate } from '../settings/pod-template.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { createSharedPodLabels } from '../cluster/pod-labels.ts';
import { GROUP, getLabels, VERSION, type AgentSandbox } from './agent-sandbox.ts';
import { createPodTemplate } from './claim-manifest.ts';
import { readPodLabels, findShortcomings } from './sandbox-template-check.ts';
import { readSandboxTemplate, TEMPLATE_HASH } from './warm-pool.ts';

/**
 * Finds out whether pods of the template can be claimed, before any is.
 *
 * @returns labels that they have for certain.
 * @throws InputError `kubernetes.no-agent-sandbox`, `kubernetes.no-warm-pool`, `kubernetes.no-sandbox-template`, `template.sandbox-template`.
 */
export async function checkClaims(
  api: AgentSandbox,
  template: SandboxTemplate,
  pod: PodTemplate,
  settings: ClaimSettings,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (!(await api.isInstalled(signal))) {
    const remedy = 'install it with its extensions, or leave kubernetes.claims away and Muster makes pods itself';
    throw new InputError('kubernetes.no-agent-sandbox', `the cluster does not have agent-sandbox (no API ${GROUP}/${VERSION}): ${remedy}`);
  }
  if (!('warmPool' in settings)) return createSharedPodLabels(template);
  const { name, template: found } = await readSandboxTemplate(api, settings.warmPool, signal);
  const problems = findShortcomings(found, createPodTemplate(template, pod).spec, pod);
  if (problems.length > 0) {
    const text = `the SandboxTemplate "${name}" of kubernetes.claims.warmPool does not make the pods that template "${template.name}" describes`;
    const remedy = 'change the one or the other; deploy/kubernetes/sandbox-template.yaml is an example';
    throw new InputError('template.sandbox-template', `${text}: ${problems.join('; ')}; ${remedy}`);
  }
  const hash = getLabels(found)[TEMPLATE_HASH];
  return { ...readPodLabels(found), ...(hash === undefined ? {} : { [TEMPLATE_HASH]: hash }) };
}
