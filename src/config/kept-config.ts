import type { Config } from './config.ts';

const NOT_KEPT = '(not kept)';

/** The configuration for the record, without the values of templates' environment variables: they may be keys and passwords. */
export function keptConfig(config: Config): Config {
  const templates = Object.entries(config.templates).map(([name, template]) => {
    const environment = Object.fromEntries(Object.keys(template.environment).map((variable) => [variable, NOT_KEPT]));
    return [name, { ...template, environment }] as const;
  });
  return { ...config, templates: Object.fromEntries(templates) };
}
