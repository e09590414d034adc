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

--- Colours the whole of line `number`, from 1.
function M.colour(bufnr, namespace, number, group)
  vim.api.nvim_buf_set_extmark(bufnr, namespace, number - 1, 0, { end_row = number, hl_group = group, strict = false })
end

return M
