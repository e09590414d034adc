// Runs in the extension host, next to the installed extension; `vscode` is the real thing.
const vscode = require('vscode');
const page = require('./page.js');

const say = (text) => console.log('test:', text);

exports.run = async () => {
  const only = process.env.BUFLENS_ONLY;
  const failed = [];
  for (const file of process.env.BUFLENS_FILES.split(',')) {
    for (const [name, test] of Object.entries(require(`./${file}.js`))) {
      if (only && !`${file}: ${name}`.includes(only)) continue;
      const start = Date.now();
      try {
        await test(say);
        say(`ok   ${file}: ${name} (${Date.now() - start} ms)`);
      } catch (error) {
        failed.push(name);
        say(`FAIL ${file}: ${name}\n${error.stack}`);
        await vscode.commands.executeCommand('notifications.showList');
        await page.screenshot(`failed-${file}-${failed.length}`);
      }
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await vscode.commands.executeCommand('notifications.clearAll');
    }
  }
  if (failed.length > 0) throw new Error(`${failed.length} failed`);
};
