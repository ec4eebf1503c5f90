--- Waiting for something, never for nothing: each wait has a limit, and says what did not happen.

local M = {}

--- Far beyond what anything takes on a busy machine.
---@type integer
M.limit = 20000

--- Until the condition is neither false nor nil, which is returned.
---@param what string for the failure, in words: 'the answer'
---@param condition fun(): any
---@param limit? integer how many milliseconds
---@return any
function M.until_true(what, condition, limit)
  limit = limit or M.limit
  -- Its own clock, because that of `vim.wait` loses time when the condition waits for something itself.
  local latest = vim.uv.hrtime() + limit * 1e6
  local value
  vim.wait(limit, function()
    value = condition()
    return (value ~= nil and value ~= false) or vim.uv.hrtime() > latest
  end, 5)
  if value == nil or value == false then
    error(('%s did not come within %g s'):format(what, limit / 1000), 0)
  end
  return value
end

return M
