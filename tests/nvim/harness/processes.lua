--- Processes of a test: all that it starts, and all that those start, carry its mark in their environment. So whatever
--- is left of it is found, however it was started, and nothing else is ever touched.

local wait = require('harness.wait')

local M = {}

M.variable = 'REVERIE_TEST_MARK'

---@class harness.Process
---@field pid integer
---@field input uv.uv_pipe_t
---@field errors string what it wrote to stderr
---@field code? integer since it ended

---@class harness.Spawn
---@field arguments string[]
---@field environment table<string, string>
---@field folder string
---@field on_output fun(data: string)

--- A program with pipes. It is in a group of its own, so that an interrupt from a terminal is not for it.
---@param program string
---@param options harness.Spawn
---@return harness.Process
function M.start(program, options)
  local input, output, errors =
    assert(vim.uv.new_pipe()), assert(vim.uv.new_pipe()), assert(vim.uv.new_pipe())
  local environment = {}
  for name, value in pairs(options.environment) do
    table.insert(environment, name .. '=' .. value)
  end
  ---@type harness.Process
  local process = { pid = 0, input = input, errors = '' }
  local handle, pid = vim.uv.spawn(program, {
    args = options.arguments,
    env = environment,
    cwd = options.folder,
    stdio = { input, output, errors },
    detached = true,
  }, function(code, signal)
    process.code = signal == 0 and code or 128 + signal
  end)
  if not handle then
    error(('cannot start %s: %s'):format(program, pid), 0)
  end
  process.pid = pid --[[@as integer]]
  output:read_start(function(_, data)
    if data then
      options.on_output(data)
    end
  end)
  errors:read_start(function(_, data)
    process.errors = process.errors .. (data or '')
  end)
  return process
end

--- As a crash does: at once, without a word.
---@param pid integer
function M.kill(pid)
  -- Nothing, or less, would be a whole group, ours among them.
  assert(pid > 1, 'not a process')
  vim.uv.kill(pid, 'sigkill')
end

--- Runs a program to its end, in this environment and no other; what it printed.
---@param command string[]
---@param environment table<string, string>
---@return string
function M.run(command, environment)
  -- Not by `clear_env`: Neovim 0.10 leaves the whole environment out then, and a program without a home finds the real
  -- one.
  local words = { 'env', '-i' }
  for name, value in pairs(environment) do
    table.insert(words, name .. '=' .. value)
  end
  local done = vim.system(vim.list_extend(words, command)):wait(wait.limit)
  if done.code ~= 0 then
    error(('%s ended with %d: %s'):format(table.concat(command, ' '), done.code, done.stderr), 0)
  end
  return done.stdout or ''
end

--- Of all that run and carry this mark: their command lines, by their numbers.
---@param mark string
---@return table<integer, string>
function M.marked(mark)
  local found = {}
  local wanted = ('\0%s=%s\0'):format(M.variable, mark)
  for name in vim.fs.dir('/proc') do
    local pid = tonumber(name)
    local environment = pid and M.read('/proc/' .. name .. '/environ')
    if pid and environment and ('\0' .. environment .. '\0'):find(wanted, 1, true) then
      local line = M.read('/proc/' .. name .. '/cmdline') or ''
      -- What has ended and was not waited for has none.
      if line ~= '' then
        found[pid] = vim.trim((line:gsub('%z', ' ')))
      end
    end
  end
  return found
end

--- Ends all that is left of a test by force; which those were, after some time to end by themselves.
---@param mark string
---@param patience integer how many milliseconds
---@return string[]
function M.sweep(mark, patience)
  vim.wait(patience, function()
    return next(M.marked(mark)) == nil
  end, 20)
  local left = {}
  for pid, line in pairs(M.marked(mark)) do
    table.insert(left, ('%d %s'):format(pid, line))
    M.kill(pid)
  end
  wait.until_true('the end of what was killed', function()
    return next(M.marked(mark)) == nil
  end)
  return left
end

--- The text of a file; nothing if there is none, or it is gone by now.
---@param path string
---@return string?
function M.read(path)
  local file = io.open(path, 'rb')
  if not file then
    return nil
  end
  local text = file:read('*a')
  file:close()
  return text
end

return M
