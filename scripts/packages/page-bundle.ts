import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from './package-files.ts';

/** The live page as one module, with the style of its curves beside it: a browser that has nothing of it yet asks once, not once for each module. */
export async function bundlePage(directory: string): Promise<void> {
  const input = join(ROOT, 'src/faces/page/browser/app.ts');
  const build = await rolldown({ input, cwd: ROOT, platform: 'browser', logLevel: 'warn', tsconfig: false });
  await build.write({ dir: directory, format: 'esm', minify: true, codeSplitting: false });
  await build.close();
  await cp(join(ROOT, 'node_modules/uplot/dist/uPlot.min.css'), join(directory, 'uPlot.min.css'));
}
