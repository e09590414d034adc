-- Dumps are called `.txt`, so a name alone claims a file only where a compiler names it so; any other is asked for
-- its first line, before the file type of its extension is taken (.txt, .log) or after nothing else was found.
local function by_content(_, bufnr)
  return bufnr and require('buflens.kind').of_text(bufnr)
end

vim.filetype.add({
  pattern = {
    ['.*%-buffer%-assignment%.txt'] = { 'xla-buffer-assignment', { priority = 20 } },
    ['.*%-buffer%-assignment%-values%.txt'] = { 'xla-buffer-assignment', { priority = 20 } },
    ['.*%-live%-range%.txt'] = { 'xla-buffer-assignment', { priority = 20 } },
    ['.*%-memory%-usage%-report%.txt'] = { 'xla-memory-report', { priority = 20 } },
    ['.*module_%d%d%d%d+%..*optimizations[%w_]*%.txt'] = { 'hlo', { priority = 10 } },
    ['.*%.txt'] = { by_content, { priority = 5 } },
    ['.*%.log'] = { by_content, { priority = 5 } },
    ['.*'] = { by_content, { priority = -10 } },
  },
})
