--- Neovim in a real terminal, tmux: for pictures of what a user sees. Tests need less and look at a `harness.Screen`.

local folders = require('harness.folders')
local processes = require('harness.processes')
local wait = require('harness.wait')

---@class harness.Terminal
---@field width integer
---@field height integer
---@field private command string[]
---@field private environment table<string, string>
local Terminal = {}
Terminal.__index = Terminal

local CONFIGURATION = [[
set -g default-terminal tmux-256color
set -g status off
set -s escape-time 0
]]

---@param root string the folder of the test
---@param environment table<string, string>
---@param size { width: integer, height: integer }
---@param program string[] what runs in it
---@return harness.Terminal
function Terminal.start(root, environment, size, program)
  folders.write(root .. '/tmux.conf', CONFIGURATION)
  local self = setmetatable({
    width = size.width,
    height = size.height,
    command = { 'tmux', '-S', root .. '/run/tmux', '-f', root .. '/tmux.conf' },
    environment = environment,
  }, Terminal)
  local line = table.concat(vim.tbl_map(vim.fn.shellescape, program), ' ')
  local width, height = tostring(size.width), tostring(size.height)
  self:tmux({ 'new-session', '-d', '-c', root .. '/workspace', '-x', width, '-y', height, 'exec ' .. line })
  return self
end

---@private
---@param arguments string[]
---@return string
function Terminal:tmux(arguments)
  return processes.run(vim.list_extend(vim.list_slice(self.command), arguments), self.environment)
end

--- A connection to the Neovim in it, as if it was a process with pipes.
---@param socket string
---@param on_output fun(data: string)
---@return harness.Process
function Terminal.connect(socket, on_output)
  local pipe = assert(vim.uv.new_pipe())
  ---@type harness.Process
  local process = { pid = 0, input = pipe, errors = '' }
  local connected = false
  wait.until_true('the socket of Neovim', function()
    return vim.uv.fs_stat(socket)
  end)
  pipe:connect(socket, function(failure)
    process.errors = failure or ''
    connected = true
  end)
  wait.until_true('a connection to Neovim', function()
    return connected
  end)
  pipe:read_start(function(_, data)
    if data then
      on_output(data)
    else
      process.code = 0
    end
  end)
  return process
end

--- Keys through the terminal, by the names that tmux has for them.
---@param ... string
function Terminal:send(...)
  self:tmux({ 'send-keys', ... })
end

---@return string[]
function Terminal:lines()
  return vim.split(self:text(), '\n')
end

---@return string
function Terminal:text()
  local fine, text = pcall(self.tmux, self, { 'capture-pane', '-p' })
  return fine and text or ''
end

--- With colours, as escape codes.
---@return string
function Terminal:capture()
  return self:tmux({ 'capture-pane', '-p', '-e', '-N' })
end

return Terminal
