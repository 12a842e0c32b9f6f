import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { InputError, getMessage } from '../../../../kernel/errors.ts';
import type { PodTemplate } from '../settings/pod-template.ts';

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>;

/**
 * The client makes connections of its own for every request over TLS, and leaves them open. Here all requests share those of the first,
 * until they have been idle; what a request is authorised by is still worked out anew each time.
 */
class SharedKubeConfig extends KubeConfig {
  #dispatcher: Dispatcher | undefined;

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    const made = context.getDispatcher();
    if (made === undefined) return;
    this.#dispatcher ??= made;
    context.setDispatcher(this.#dispatcher);
  }
}

/** @throws InputError `kubernetes.config` when there is none, or not the context. */
export function loadKubeConfig({ kubeconfig, context }: Pick<PodTemplate, 'kubeconfig' | 'context'>): KubeConfig {
  const config = new SharedKubeConfig();
  try {
    if (kubeconfig === 'auto') config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new InputError('kubernetes.config', `the kubeconfig ${kubeconfig} cannot be read: ${getMessage(error)}; ${REMEDY}`, {
      cause: error,
    });
  }
  if (kubeconfig === 'auto' && config.getCurrentCluster()?.server === ASSUMED_SERVER)
    throw new InputError(
      'kubernetes.config',
      `there is no kubeconfig: $KUBECONFIG, ~/.kube/config and the service account of a pod were looked for; ${REMEDY}`,
    );
  if (context !== undefined) {
    const known = config.getContexts().map(({ name }) => name);
    if (!known.includes(context)) {
      throw new InputError(
        'kubernetes.config',
        `the kubeconfig has no context "${context}", it has ${known.join(', ') || 'none'}; ${REMEDY}`,
      );
    }
    config.setCurrentContext(context);
  }
  if (!config.getCurrentCluster()) throw new InputError('kubernetes.config', `the kubeconfig names no cluster; ${REMEDY}`);
  return config;
}

/** What the client asks where it finds nothing. */
const ASSUMED_SERVER = 'http://localhost:8080';
const REMEDY = 'set kubernetes.kubeconfig and kubernetes.context of the template';
