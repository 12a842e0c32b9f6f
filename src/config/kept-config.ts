import type { Config } from './config.ts';

const NOT_KEPT = '(not kept)';

/** The configuration for the record, without what may hold keys and passwords: the values of templates' environment variables, and where the store is. */
export function keptConfig(config: Config): Config {
  const templates = Object.entries(config.templates).map(([name, template]) => {
    const environment = Object.fromEntries(Object.keys(template.environment).map((variable) => [variable, NOT_KEPT]));
    return [name, { ...template, environment }] as const;
  });
  return { ...config, store: { url: NOT_KEPT }, templates: Object.fromEntries(templates) };
}
