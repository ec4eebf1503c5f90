--- Waiting inside a coroutine, as the handlers of vim.lsp are.
local M = {}

--- Yields until `begin`'s callback is called; returns what it was called with.
---@generic T
---@param begin fun(done: fun(value: T))
---@return T
function M.await(begin)
  local thread = assert((coroutine.running()))
  local is_done, is_waiting, answer = false, false, nil
  begin(function(value)
    if is_done then
      return
    end
    is_done, answer = true, value
    if is_waiting then
      local ok, problem = coroutine.resume(thread)
      if not ok then
        error(problem, 0)
      end
    end
  end)
  if not is_done then
    is_waiting = true
    coroutine.yield()
  end
  return answer
end

return M
