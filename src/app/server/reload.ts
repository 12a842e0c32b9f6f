import { applyReload } from '../../config/reloaded.ts';
import type { Config } from '../../config/config.ts';
import type { Runtime } from '../runtime.ts';
import { getMessage, MusterError } from '../../kernel/errors.ts';
import type { PoolSize } from '../../pool/planning/pool-config.ts';
import type { EpisodeBounds } from '../../service/playing/episode-bounds.ts';
import type { PoolService } from '../../service/upkeep/pool-service.ts';
import type { WebhookDeliverer } from '../../service/upkeep/webhook-deliverer.ts';

/** The result, for people. */
export type Reload =
  | {
      readonly kind: 'reloaded';
      readonly changed: readonly string[];
      readonly pending: readonly string[];
      /** Suites, templates, directories and variables that cannot be used, and why. */
      readonly problems: readonly string[];
    }
  /** The configuration in force stays. */
  | { readonly kind: 'refused'; readonly problem: string };

export interface ReloadParts {
  /** @throws InputError when the new configuration cannot be used. */
  readonly read: () => Config;
  readonly runtime: Runtime;
  readonly pools: PoolService;
  readonly bounds: EpisodeBounds;
  readonly webhooks: Pick<WebhookDeliverer, 'look'>;
  /** Finds problems of the configuration in force. */
  readonly findProblems: () => Promise<readonly string[]>;
}

/** The principal in the audit when a reload scales pools. */
const PRINCIPAL = 'configuration';

/** Reloads the configuration of a server. It ends nothing that is under way. Logs the names of settings, never their values. */
export async function reload({ read, runtime, pools, bounds, webhooks, findProblems }: ReloadParts): Promise<Reload> {
  const { log } = runtime;
  try {
    const before = runtime.config;
    const { config, changed, pending } = applyReload(before, read());
    if (isResized(before.pool, config.pool)) await resizeAll(pools, config.pool);
    runtime.configure(config);
    bounds.onChanged();
    webhooks.look();
    log.info({ changed }, 'the configuration was read again');
    if (pending.length > 0) log.warn({ pending }, 'these settings take effect when Muster is started again');
    return { kind: 'reloaded', changed, pending, problems: await findProblems() };
  } catch (error) {
    if (!(error instanceof MusterError)) throw error;
    const problem = getMessage(error);
    log.warn({ problem }, 'the configuration could not be read again, and the one in force stays');
    return { kind: 'refused', problem };
  }
}

function isResized(before: PoolSize, after: PoolSize): boolean {
  return before.min !== after.min || before.max !== after.max || before.warm !== after.warm;
}

/** Gives every pool the configuration's size, which is newer than what an operator has set. A pool that drains goes on draining. */
async function resizeAll(pools: PoolService, { min, max, warm }: PoolSize): Promise<void> {
  for (const { name } of pools.list()) await pools.change(name, { min, max, warm }, PRINCIPAL);
}
