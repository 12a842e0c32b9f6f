import type { Config } from './config.ts';

const NOT_KEPT = '(not kept)';

/**
 * Returns the configuration for the record, without settings that may hold keys and passwords: templates' environment variables, the addresses of the
 * stores, and the secret that signs webhooks.
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
