import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import { answerOptions } from '../script-options.ts';
import { tellStillRunning } from '../still-running.ts';

/**
 * Takes pictures of each view of the live page, light and dark, narrow and wide, from a real server with real evaluations:
 *
 *   npm run screenshots                        # into docs/images/page
 *   npm run screenshots -- --into /tmp/pages --format png
 */

const WIDTHS = [
  { width: 1440, height: 900, most: 1300 },
  { width: 390, height: 844, most: 1600 },
] as const;
const SCHEMES = ['light', 'dark'] as const;
/** The quality of WebP: text stays sharp, and a picture takes some 40 kB. */
const QUALITY = 70;

const OPTIONS = {
  into: { type: 'string', default: 'docs/images/page' },
  format: { type: 'string', default: 'webp' },
  only: { type: 'string' },
} as const;
endOnClosedOutput(process);
answerOptions('npm run screenshots -- [--into DIRECTORY] [--format webp|png] [--only VIEW,…]\n', OPTIONS);
const { values } = parseArgs({ options: OPTIONS });
// These imports take a second, for which --help does not wait.
const [{ openBrowser }, { openShownServer }] = await Promise.all([import('../../test/support/chromium.ts'), import('./shown-server.ts')]);
const format = values.format === 'png' ? 'png' : 'webp';

await mkdir(values.into, { recursive: true });
using _beats = tellStillRunning((seconds) => process.stderr.write(`still running, for ${seconds} s\n`));
await using server = await openShownServer();
await using browser = await openBrowser();
const page = await browser.context.newPage();
await signIn(page);
for (const [name, address] of Object.entries(server.views))
  if (values.only === undefined || values.only.split(',').includes(name)) await takeView(page, name, address);

async function signIn(page: Page): Promise<void> {
  await page.goto(server.url);
  await page.getByLabel('Token').fill(server.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
}

async function takeView(page: Page, name: string, address: string): Promise<void> {
  await page.goto(`${server.url}${address}`);
  await page.locator('main h1').waitFor();
  if (name === 'episode') await replay(page);
  if (name === 'pools') {
    server.loseSandbox();
    await page.locator('.cells .lost').first().waitFor();
  }
  if (name === 'transcript') await page.locator('details summary').nth(4).click();
  for (const size of WIDTHS)
    for (const colorScheme of SCHEMES) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await settle(page);
      await writeFile(join(values.into, `${name}-${size.width}-${colorScheme}.${format}`), await capture(page, size));
    }
}

async function replay(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Play again' }).click();
  await page.getByText('the same outcome').waitFor({ timeout: 120_000 });
  await page.getByRole('slider').fill('7');
}

/** The page draws its curves again when the scheme or the width changes. */
async function settle(page: Page): Promise<void> {
  await page.locator('body').evaluate(() => new Promise((resolve) => setTimeout(resolve, 1500)));
}

async function capture(page: Page, { width, most }: { readonly width: number; readonly most: number }): Promise<Buffer> {
  const height = Math.min(most, await page.locator('html').evaluate((root) => Number(root.scrollHeight)));
  const session = await page.context().newCDPSession(page);
  const clip = { x: 0, y: 0, width, height, scale: 1 };
  const options = { format, captureBeyondViewport: true, clip, ...(format === 'webp' ? { quality: QUALITY } : {}) } as const;
  const { data } = await session.send('Page.captureScreenshot', options);
  await session.detach();
  return Buffer.from(data, 'base64');
}
