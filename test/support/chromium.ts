import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { BrowserContext } from 'playwright-core';

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome'];

/** The distribution's Chromium with a profile and home of its own, both gone once it is closed. */
export interface Browser extends AsyncDisposable {
  readonly context: BrowserContext;
  /** For pages to open, gone with it. */
  readonly directory: string;
}

/** @throws Error when none is installed. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = commandPath();
  const directory = mkdtempSync(join(tmpdir(), 'muster-browser-'));
  try {
    const context = await chromium.launchPersistentContext(join(directory, 'profile'), {
      executablePath,
      chromiumSandbox: process.getuid?.() !== 0,
      // The signal ends this process at once, and Chromium ends with it.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      env: { PATH: process.env['PATH'] ?? '', HOME: directory, TMPDIR: directory, LANG: 'C.UTF-8' },
    });
    return {
      context,
      directory,
      async [Symbol.asyncDispose]() {
        await context.close();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

function commandPath(): string {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).flatMap((folder) => COMMANDS.map((command) => join(folder, command)));
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(
    `no browser to look at reports with: none of ${COMMANDS.join(', ')} is on PATH; install one, for example: apt-get install chromium`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
