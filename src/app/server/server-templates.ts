import type { Pools } from '../pools.ts';
import type { Runtime } from '../runtime.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage, InfrastructureError, InputError, MusterError } from '../../kernel/errors.ts';
import { getPlugin } from '../sandboxes/providers.ts';

/** Pause before a template that cannot be used is tried again: that may start its Python. */
const PAUSE_MILLISECONDS = 10_000;

interface TemplateRuntime extends Pick<Runtime, 'choosePolicyPlacement' | 'joinSignals'> {
  readonly pools: Pick<Pools, 'templates' | 'make' | 'describe' | 'getProvider'>;
}

interface Examination {
  readonly at: number;
  readonly problems: Promise<readonly string[]>;
}

/**
 * The templates without which a server has no work: those of the configured suites or, without suites, all of them, of which one is enough. Part of
 * the composition root.
 */
export class ServerTemplates {
  readonly #runtime: TemplateRuntime;
  readonly #clock: Clock;
  #ofSuites: readonly string[] = [];
  #last: Examination | undefined;

  constructor(runtime: TemplateRuntime, clock: Clock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** Explains why evaluations will fail, for people. @param ofSuites names of the configured suites' templates. */
  async examine(ofSuites: readonly string[]): Promise<readonly string[]> {
    this.#ofSuites = ofSuites;
    return await this.#examineAnew();
  }

  /** Explains why the server should get no work. */
  async findHindrances(): Promise<readonly string[]> {
    const last = this.#last;
    const isRecent = last !== undefined && this.#clock.now() - last.at < PAUSE_MILLISECONDS;
    const problems = await (isRecent ? last.problems : this.#examineAnew());
    const isHindered = this.#ofSuites.length > 0 || problems.length === this.#runtime.pools.templates.length;
    return isHindered ? problems : [];
  }

  #examineAnew(): Promise<readonly string[]> {
    const names = this.#ofSuites.length > 0 ? this.#ofSuites : this.#runtime.pools.templates;
    const problems = Promise.all(names.map((name) => this.#findProblem(name))).then((found) => found.flat());
    this.#last = { at: this.#clock.now(), problems };
    return problems;
  }

  async #findProblem(template: string): Promise<readonly string[]> {
    const { pools } = this.#runtime;
    try {
      const pool = { template, policy: this.#runtime.choosePolicyPlacement(template, []) };
      const signal = this.#runtime.joinSignals(undefined);
      // A provider elsewhere would be asked over a network, which a server must not need in order to start.
      const { isOwnMachine } = getPlugin({ provider: pools.getProvider(template) });
      await (isOwnMachine ? pools.describe(pool, signal) : pools.make(pool, signal));
      return [];
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      return [`templates.${template}: ${getMessage(error)}; evaluations on it fail until that is corrected`];
    }
  }
}

/** Codes of errors that the template causes, and so nothing that a caller has sent. */
const OF_TEMPLATES = /^(?:python|template|provider|image|docker|e2b|kubernetes|cloud-build)\.|^runner\.cannot-start$/;

/** Returns the error that a caller sees. A template that cannot be used is InfrastructureError `server.template`: the operator has to correct it. */
export function attributeToOperator(error: unknown, template: string): unknown {
  if (!(error instanceof InputError) || !OF_TEMPLATES.test(error.code)) return error;
  const message = `this server cannot make sandboxes of its template "${template}": ${error.message}. Ask the server's operator to correct that ("muster doctor" tries it)`;
  return new InfrastructureError('server.template', message, { cause: error });
}
