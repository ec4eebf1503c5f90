--- Times, for people.
local M = {}

--- Days from 1970 to a day of the Gregorian calendar, by counting years from March on: the leap day is their last.
---@param year integer
---@param month integer
---@param day integer
---@return integer
local function days_until(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local leap_days = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return 365 * year + leap_days + math.floor((153 * (month - 3) + 2) / 5) + day - 1 - 719468
end

--- Seconds since 1970 of a time in RFC 3339, which the server writes in UTC. Not by way of local time: there an hour of
--- each year comes twice.
---@param time string
---@return integer
function M.seconds(time)
  local pattern = '^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)'
  local year, month, day, hour, minute, second = unpack(vim.tbl_map(tonumber, { time:match(pattern) }))
  return days_until(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
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
