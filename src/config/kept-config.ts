import type { Config } from './config.ts';

const NOT_KEPT = '(not kept)';

/**
 * The configuration for the record, without what may hold keys and passwords: the values of templates' environment variables, where the store
 * and the live state of episodes are, and what webhooks are signed with.
 */
export function redactConfig(config: Config): Config {
  const templates = Object.entries(config.templates).map(([name, template]) => {
    const environment = Object.fromEntries(Object.keys(template.environment).map((variable) => [variable, NOT_KEPT]));
    return [name, { ...template, environment }] as const;
  });
  const server = { ...config.server, webhookSecret: NOT_KEPT };
  return {
    ...config,
    store: { url: NOT_KEPT },
    arena: { ...config.arena, live: NOT_KEPT },
    server,
    templates: Object.fromEntries(templates),
  };
}
