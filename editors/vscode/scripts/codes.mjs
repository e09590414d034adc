// Writes the codes of findings into the settings: `npm run codes` after a change of docs/diagnostics.md.
import fs from 'node:fs';

const manifest = new URL('../package.json', import.meta.url);
const findings = new URL('../../../docs/diagnostics.md', import.meta.url);

/** The settings for the severities of all codes, as docs/diagnostics.md describes them. */
export function severities() {
  const levels = ['error', 'warning', 'information', 'hint', 'off'];
  const sections = fs.readFileSync(findings, 'utf8').split(/^## /m).slice(1);
  const settings = sections.map((section) => {
    const [code, paragraph] = section.split('\n\n');
    const [level, first] = paragraph.replaceAll('\n', ' ').split(/(?<!\.)\. (?=[A-Z`(])/);
    const description = `${first.replace(/\.$/, '')}.`.replaceAll('`', '');
    const setting = { type: 'string', enum: levels, default: level.toLowerCase(), description };
    return [code, setting];
  });
  return Object.fromEntries(settings.filter(([, setting]) => levels.includes(setting.default)));
}

/** The same, as they are in package.json now. */
export function published() {
  const { configuration } = JSON.parse(fs.readFileSync(manifest, 'utf8')).contributes;
  return configuration.find(({ title }) => title === 'Findings').properties['buflens.severity'].properties;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const contents = JSON.parse(fs.readFileSync(manifest, 'utf8'));
  const section = contents.contributes.configuration.find(({ title }) => title === 'Findings');
  section.properties['buflens.severity'].properties = severities();
  fs.writeFileSync(manifest, `${JSON.stringify(contents, null, 2)}\n`);
}
