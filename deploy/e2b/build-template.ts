import { parseArgs } from 'node:util';
import { defaultBuildLogger, Template } from 'e2b';
import { musterTemplate } from './template.ts';

const USAGE = `node_modules/.bin/node deploy/e2b/build-template.ts [--name muster-runner] [--cpus 2] [--memory-mib 1024]

Builds the template at E2B, for the account of E2B_API_KEY. It takes some minutes the first time, and seconds after a change of the runner.`;

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: 'muster-runner' },
    cpus: { type: 'string', default: '2' },
    'memory-mib': { type: 'string', default: '1024' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(`${USAGE}\n`);
else if (!process.env['E2B_API_KEY']) {
  process.stderr.write('E2B_API_KEY is not set; get a key from https://e2b.dev/dashboard?tab=keys\n');
  process.exitCode = 2;
} else {
  const size = { cpuCount: wholeNumber('cpus', values.cpus), memoryMB: wholeNumber('memory-mib', values['memory-mib']) };
  const { name, templateId } = await Template.build(musterTemplate(), values.name, { ...size, onBuildLogs: defaultBuildLogger() });
  process.stdout.write(`${name} (${templateId})\n`);
}

function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new Error(`--${flag}: expected a whole number, got "${text}"`);
}
