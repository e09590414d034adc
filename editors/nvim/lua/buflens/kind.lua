-- Which kind of dump a text is, by its headings: dumps get renamed.
local M = {}

--- How many lines may come before the heading that decides.
local LINES = 12

local HEADINGS = {
  { '^BufferAssignment:$', 'xla-buffer-assignment' },
  { '^Used values:', 'xla-buffer-assignment' },
  { '^HloLiveRange %(max %d+%):', 'xla-buffer-assignment' },
  { '^HloLiveRange not available', 'xla-buffer-assignment' },
  { '^Memory Space: .* %(color=%d+%)', 'xla-memory-report' },
  { '^Allocations sorted by size', 'xla-memory-report' },
  { '^HloModule [%w_]', 'hlo' },
}

--- What may come before such a heading: nothing else makes a dump of a text that only quotes one.
local BEFORE = { '^%s*$', '^Total bytes used: %d+ %(', '^%*%*%* Begin .+ %*%*%*$' }

local function matches(line, patterns)
  return vim.iter(patterns):any(function(pattern)
    return line:find(pattern) ~= nil
  end)
end

---@param bufnr integer
---@return string? filetype
function M.of_text(bufnr)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, LINES, false)) do
    line = line:gsub('\r$', '')
    for _, heading in ipairs(HEADINGS) do
      if line:find(heading[1]) then
        return heading[2]
      end
    end
    if not matches(line, BEFORE) then
      return nil
    end
  end
end

return M
