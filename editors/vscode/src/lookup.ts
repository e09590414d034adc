// Where the server's program is.

import * as os from 'node:os';
import * as path from 'node:path';

/** What decides where the program is looked for. */
export interface Surroundings {
  /** The setting `buflens.server.path`. */
  setting: string;
  /** The folder of the extension. */
  extension: string;
  /** The first folder that is open. */
  folder: string | undefined;
  environment: Record<string, string | undefined>;
  platform: NodeJS.Platform;
  /** Whether there is a file at a path that may be run. */
  isProgram: (path: string) => boolean;
}

export interface Lookup {
  /** The program, if it was found. */
  program: string | undefined;
  /** Where it was looked for, in words. */
  tried: string[];
}

/** Finds the server: what the user set and nothing else, or what came with the extension, or what is on the PATH. */
export function findServer(surroundings: Surroundings): Lookup {
  const { setting, extension, environment, platform, isProgram } = surroundings;
  if (setting.trim() !== '') {
    const program = expand(setting.trim(), surroundings);
    return { program: isProgram(program) ? program : undefined, tried: [`${program} (the setting buflens.server.path)`] };
  }
  const name = platform === 'win32' ? 'buflens.exe' : 'buflens';
  const bundled = path.join(extension, 'bin', name);
  // Windows spells the variable as it likes.
  const variable = Object.keys(environment).find((key) => key.toUpperCase() === 'PATH');
  const folders = (variable === undefined ? undefined : environment[variable])?.split(path.delimiter) ?? [];
  const candidates = [bundled, ...folders.filter((folder) => folder !== '').map((folder) => path.join(folder, name))];
  return { program: candidates.find(isProgram), tried: [bundled, `${name} on the PATH`] };
}

function expand(setting: string, { folder, environment, platform }: Surroundings): string {
  const home = environment[platform === 'win32' ? 'USERPROFILE' : 'HOME'] ?? os.homedir();
  const expanded = setting.replace(/^~(?=$|[/\\])/, () => home);
  return folder === undefined ? expanded : path.resolve(folder, expanded.replaceAll('${workspaceFolder}', () => folder));
}

/** The version that `buflens --version` printed; nothing if another program answered. */
export function versionIn(output: string): string | undefined {
  return /^buflens (\d+\.\d+\.\d+\S*)\s*$/.exec(output)?.[1];
}

/** Whether a server and an extension of these versions were made for each other. */
export function isCompatible(server: string, extension: string): boolean {
  const release = (version: string) => version.split('.', 2).join('.');
  return release(server) === release(extension);
}
