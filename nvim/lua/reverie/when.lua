--- Times, for people.
local M = {}

--- Seconds since 1970 of a time in RFC 3339, which the server writes in UTC.
---@param time string
---@return integer
function M.seconds(time)
  local format = '%Y-%m-%dT%H:%M:%S'
  local now = os.time()
  -- As if it was local, and then by how much local differs.
  local shift = now - vim.fn.strptime(format, tostring(os.date('!' .. format, now)))
  return vim.fn.strptime(format, time:sub(1, 19)) + shift
end

---@param time string
---@return string
function M.age(time)
  local days = math.max(0, math.floor((os.time() - M.seconds(time)) / 86400))
  return days == 0 and 'today' or days == 1 and 'yesterday' or ('%d days ago'):format(days)
end

--- The day and the minute, where the user is.
---@param time string
---@return string
function M.moment(time)
  return tostring(os.date('%Y-%m-%d %H:%M', M.seconds(time)))
end

return M
