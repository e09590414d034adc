-- What a buffer with a dump gets: options, commands, and what the server adds to the lines.
local M = {}

--- Above so many lines Neovim would be busy for long with what it does for all lines at once: an expression for folds
--- (16 s a million lines), hints and lenses. What is asked for at the cursor or for the window stays.
M.LARGE = 30000

local COMMANDS = {
  BuflensPeak = { 'peak', { nargs = '?', bang = true, desc = 'What the peak of a memory space is made of' } },
  BuflensMap = { 'map', { nargs = '?', desc = 'Where the values of a memory space lie, and when' } },
  BuflensWhatIf = { 'what_if', { nargs = '+', desc = 'The peak without the values with these ids' } },
  BuflensOffset = { 'offset', { nargs = '+', desc = 'The values at an offset of an allocation' } },
  BuflensPadding = { 'padding', { nargs = '?', desc = 'The values with padding' } },
  BuflensDonation = { 'donation', { nargs = 0, desc = 'Which parameters are donated, and which could be' } },
  BuflensCopies = { 'copies', { nargs = 0, desc = 'The copies that the compiler inserted' } },
  BuflensDiff = { 'diff', { nargs = 1, complete = 'file', desc = 'What changed since another dump' } },
  BuflensExport = { 'export', { nargs = 1, complete = 'file', bang = true, desc = 'The dump as a file for other programs' } },
}

local function is_large(bufnr)
  return vim.api.nvim_buf_line_count(bufnr) > M.LARGE
end

--- Options and commands of the current buffer, with their undoing.
function M.set_up()
  local bufnr = vim.api.nvim_get_current_buf()
  local undo = { 'setlocal wrap< iskeyword< synmaxcol<' }

  vim.opt_local.wrap = false
  -- Long lines repeat a tuple's shape and operands; colouring them to the end is slow and shows nothing.
  vim.opt_local.synmaxcol = 1000
  -- A name is a word, so that |star| and CTRL-] take `copy-start.1`. The `%` before it is not: the same name
  -- stands without one elsewhere, and |star| has to find both.
  vim.opt_local.iskeyword:append({ '.', '-' })

  if vim.fn.has('nvim-0.11') == 0 then
    vim.notify_once('Buflens needs Neovim 0.11 or newer; this one only gets colours.', vim.log.levels.WARN)
  else
    if not is_large(bufnr) then
      vim.opt_local.foldmethod = 'expr'
      vim.opt_local.foldexpr = 'v:lua.vim.lsp.foldexpr()'
      vim.opt_local.foldlevel = 99
      undo[1] = undo[1] .. ' foldmethod< foldexpr< foldlevel<'
    end
    for name, command in pairs(COMMANDS) do
      vim.api.nvim_buf_create_user_command(bufnr, name, function(given)
        require('buflens.commands')[command[1]](given)
      end, command[2])
      table.insert(undo, 'silent! delcommand -buffer ' .. name)
    end
  end
  vim.b.undo_ftplugin = table.concat(undo, ' | ')
end

--- Shows hints and lenses, which Neovim leaves to the user elsewhere; a dump has nobody who writes in it.
function M.attached(bufnr, client)
  if is_large(bufnr) then
    return
  end
  if client:supports_method('textDocument/inlayHint') then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
  if client:supports_method('textDocument/codeLens') then
    if vim.lsp.codelens.enable then
      vim.lsp.codelens.enable(true, { bufnr = bufnr })
    else -- Neovim 0.11
      vim.lsp.codelens.refresh({ bufnr = bufnr })
    end
  end
end

return M
