import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import typescript from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist'] },
  js.configs.recommended,
  {
    files: ['src/**/*.ts'],
    extends: [typescript.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    // Numbers in messages are what this extension is about.
    rules: { '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }] },
  },
  { files: ['**/*.mjs'], languageOptions: { globals: { Buffer: 'readonly', process: 'readonly', URL: 'readonly' } } },
);
