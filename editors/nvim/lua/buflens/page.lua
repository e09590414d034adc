-- A window with text from the server: a map, what changed.
local M = {}

--- Opens `text` below all windows and gives the buffer and its lines.
---@param filetype string
function M.open(text, filetype)
  vim.cmd('botright new')
  local bufnr = vim.api.nvim_get_current_buf()
  local lines = vim.split(text, '\n', { trimempty = true })
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].swapfile = false
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].filetype = filetype
  vim.wo[0][0].wrap = false
  vim.wo[0][0].number = false
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, nowait = true, desc = 'Close' })
  return bufnr, lines
end

--- Goes from the page in the current window to `location`: in the window that shows its document, else in the one that
--- the page was opened from, else above the page. Never in place of the page, which would be lost.
---@param location lsp.Location
function M.show(location, encoding)
  if vim.fn.bufwinid(vim.uri_to_bufnr(location.uri)) == -1 then
    local here = vim.api.nvim_get_current_win()
    vim.cmd.wincmd('p')
    if vim.api.nvim_get_current_win() == here or vim.bo.buftype ~= '' or vim.wo.winfixbuf then
      vim.api.nvim_set_current_win(here)
      vim.cmd('aboveleft split')
    end
  end
  vim.lsp.util.show_document(location, encoding, { reuse_win = true, focus = true })
end

--- Colours the whole of line `number`, from 1.
function M.colour(bufnr, namespace, number, group)
  vim.api.nvim_buf_set_extmark(bufnr, namespace, number - 1, 0, { end_row = number, hl_group = group, strict = false })
end

return M
