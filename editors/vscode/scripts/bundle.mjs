// Bundles the extension. Features of the protocol that make no sense for dumps and HLO texts are left out of the
// client's library: they are a fifth of it.
import fs from 'node:fs';

import { build, transform } from 'esbuild';

const features = [
  'colorProvider', 'fileOperations', 'formatting', 'inlineCompletion', 'inlineValue', 'linkedEditingRange',
  'notebook', 'rename', 'signatureHelp', 'textDocumentContent', 'typeHierarchy',
];
const withoutThem = {
  name: 'without-features',
  setup({ onLoad }) {
    const filter = new RegExp(`vscode-languageclient[\\\\/]lib[\\\\/]common[\\\\/](${features.join('|')})\\.js$`);
    // Diagnostics also listen to what happens to notebooks.
    const contents = `
      const never = () => ({ dispose() {} });
      class Feature {
        registrationType = { method: 'notebookDocument/sync' };
        onOpenNotificationSent = never;
        onChangeNotificationSent = never;
        onSaveNotificationSent = never;
        onCloseNotificationSent = never;
        fillClientCapabilities() {}
        initialize() {}
        register() {}
        unregister() {}
        clear() {}
        getState() { return { kind: 'static' }; }
      }
      module.exports = new Proxy({}, { get: () => Feature });`;
    onLoad({ filter }, () => ({ contents }));
    // Patterns of paths, which no selector of this extension has.
    onLoad({ filter: /node_modules[\\/]minimatch[\\/].*index\.js$/ }, () => ({ contents: 'module.exports = {};' }));
    // The library checks VS Code's version once more, which `engines` has done.
    onLoad({ filter: /semver[\\/]functions[\\/]\w+\.js$/ }, () => ({ contents: 'module.exports = () => ({});' }));
  },
};

await build({
  // The second is loaded by the first when a dump is opened.
  entryPoints: ['src/extension.ts', 'src/client.ts'],
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode', './client.js'],
  minify: true,
  logLevel: 'warning',
  plugins: [withoutThem],
});

// The memory map is that of the reports: whatever there is named so, in the order of names, and behind it what only the editor needs.
const reports = new URL('../../../server/src/report/html/', import.meta.url);
const here = new URL('../webview/', import.meta.url);
fs.mkdirSync('dist/webview', { recursive: true });
for (const kind of ['js', 'css']) {
  const names = fs.readdirSync(reports).filter((name) => name.startsWith('map') && name.endsWith(`.${kind}`));
  const files = [...names.sort().map((name) => new URL(name, reports)), new URL(`map.${kind}`, here)];
  const { code } = await transform(files.map((file) => fs.readFileSync(file, 'utf8')).join('\n'), { loader: kind, minify: true });
  fs.writeFileSync(`dist/webview/map.${kind}`, code);
}
