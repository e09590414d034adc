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
  { '^HloModule [^%s,]+,', 'hlo' },
  { '^HloModule [^%s,]+$', 'hlo' },
}

--- What may come before such a heading: nothing else makes a dump of a text that only quotes one.
local BEFORE = { '^%s*$', '^Total bytes used: %d+ %(', '^%*%*%* Begin .+ %*%*%*$' }

--- What the text of a failure for want of memory holds, whatever a log puts before it, in so many lines.
local FAILURE_LINES = 80
local FAILURES = {
  'Ran out of memory in memory space ',
  'Ran out of memory on %S+, the total memory required ',
  'Allocation %(size=.* would exceed memory ',
  'Out of memory while trying to allocate %d',
  'Out of memory allocating %d',
  'Attempting to allocate .*%. That was not possible',
  'Attempting to reserve .*%. That was not possible',
  'Failed to allocate request for %d',
  "Aborting compilation early because it's unlikely to have enough device memory%. Requires ",
  -- Without its last words it may be a warning, of a request that the program can do without.
  'Allocator %(.* ran out of memory trying to allocate %S+ %(rounded to ',
  "Can't reduce memory use below .* by rematerialization",
  'Largest program allocations in ',
  'BufferAssignment OOM Debugging',
}

local function matches(line, patterns)
  return vim.iter(patterns):any(function(pattern)
    return line:find(pattern) ~= nil
  end)
end

---@param bufnr integer
---@return string? filetype
local function of_headings(bufnr)
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

---@param bufnr integer
---@return string? filetype
function M.of_text(bufnr)
  local filetype = of_headings(bufnr)
  if filetype then
    return filetype
  end
  for _, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, FAILURE_LINES, false)) do
    if matches(line, FAILURES) then
      return 'xla-memory-report'
    end
  end
end

return M
