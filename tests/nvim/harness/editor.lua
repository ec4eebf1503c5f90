--- One Neovim under test, as its user sees and drives it: keys go in, a screen comes out.

local Model = require('harness.model')
local Rpc = require('harness.rpc')
local Screen = require('harness.screen')
local Terminal = require('harness.terminal')
local folders = require('harness.folders')
local processes = require('harness.processes')
local wait = require('harness.wait')

---@class harness.Places
---@field nvim string the program under test
---@field root string of the repository
---@field server string
---@field model string

---@class harness.Options
---@field files? table<string, string> paths and texts, in the workspace
---@field memories? table<string, string> names and texts, in the project's memory folder
---@field settings? table the user's settings of the agent
---@field init? string Lua that runs before plugins are loaded, as a user's configuration does
---@field arguments? string[] more of Neovim's command line
---@field width? integer
---@field height? integer
---@field untrusted? boolean nobody has said that the workspace may be trusted
---@field server? string the program of the server, if it is another; empty: there is none in PATH
---@field offline? boolean the model that needs no server answers instead of the scripted one
---@field terminal? boolean for pictures: it runs in a real one
---@field plugin? boolean false: Neovim without it
---@field environment? table<string, string>
---@field prepare? fun(folders: harness.Folders) called before anything starts

---@class harness.Editor
---@field model harness.Model
---@field places harness.Places
---@field screen harness.Screen
---@field terminal? harness.Terminal
---@field rpc harness.Rpc
---@field process harness.Process
---@field folders harness.Folders
---@field home string
---@field workspace string
---@field project string
---@field private mark string
---@field private relaunch fun()
local Editor = {}
Editor.__index = Editor

local started = 0

---@param places harness.Places
---@param options harness.Options
---@return harness.Editor
function Editor.start(places, options)
  started = started + 1
  local made = folders.make()
  local self = setmetatable({
    screen = Screen.new(),
    places = places,
    folders = made,
    home = made.home,
    workspace = made.workspace,
    project = made.project,
    mark = ('%d-%d-%s'):format(vim.uv.os_getpid(), started, vim.fs.basename(made.root)),
  }, Editor)
  -- From here on something may be left behind: whoever fails below is cleaned up after.
  local fine, failure = xpcall(self.begin, debug.traceback, self, places, options)
  if not fine then
    local rest = self:finish(false)
    error(table.concat(vim.list_extend({ tostring(failure) }, rest), '\n'), 0)
  end
  return self
end

---@private
---@param places harness.Places
---@param options harness.Options
function Editor:begin(places, options)
  local made = self.folders
  folders.write_all(made.workspace, options.files)
  folders.write_all(made.project .. '/memory', options.memories)
  local settings = vim.tbl_isempty(options.settings or {}) and vim.empty_dict() or options.settings
  folders.write(made.configuration .. '/settings.json', vim.json.encode(settings))
  folders.write(made.root .. '/init.lua', options.init or '')
  if options.prepare then
    options.prepare(made)
  end
  local server = options.server or places.server
  if server ~= '' then
    assert(vim.uv.fs_symlink(server, made.root .. '/bin/reverie'))
  end
  local environment = self:environment()
  self.model = Model.start(places.model, made.root, environment)
  self.model:always('title', 'A conversation')
  self.model:always('recall', '{"selected": []}')
  if not options.offline then
    environment.ANTHROPIC_BASE_URL = self.model.url
    environment.ANTHROPIC_API_KEY = 'test-key'
  end
  environment = vim.tbl_extend('force', environment, options.environment or {})
  if not options.untrusted then
    processes.run({ places.server, 'trust', '--yes', '--cwd', made.workspace }, environment)
  end
  self.relaunch = function()
    self:launch(places, options, environment)
  end
  self.relaunch()
end

--- Ends it and opens it again, as a user does the next morning; what lies in the folders stays.
function Editor:reopen()
  self.rpc:send('nvim_input', '<C-\\><C-n><C-\\><C-n>:qall!<CR>')
  self:wait('the end of Neovim', function()
    return self.process.code ~= nil
  end)
  self.screen = Screen.new()
  self.relaunch()
end

---@private
---@return table<string, string>
function Editor:environment()
  local made = self.folders
  local path = assert(vim.env.PATH)
  -- A `reverie` that the machine has installed is not the one under test.
  local without = vim.tbl_filter(function(folder)
    return vim.fn.executable(folder .. '/reverie') == 0
  end, vim.split(path, ':'))
  return {
    [processes.variable] = self.mark,
    PATH = made.root .. '/bin:' .. table.concat(without, ':'),
    HOME = made.home,
    XDG_CONFIG_HOME = made.home .. '/.config',
    XDG_DATA_HOME = made.home .. '/.local/share',
    XDG_STATE_HOME = made.home .. '/.local/state',
    XDG_CACHE_HOME = made.home .. '/.cache',
    XDG_RUNTIME_DIR = made.root .. '/run',
    CLAUDE_CONFIG_DIR = made.configuration,
    LANG = 'C.UTF-8',
    SHELL = '/bin/bash',
    TERM = 'xterm-256color',
    COLORTERM = 'truecolor',
    NVIM_LOG_FILE = made.root .. '/nvim.log',
  }
end

---@private
---@param places harness.Places
---@param options harness.Options
---@param environment table<string, string>
function Editor:launch(places, options, environment)
  local arguments = { '--clean' }
  if options.plugin ~= false then
    vim.list_extend(arguments, { '--cmd', 'set rtp^=' .. vim.fn.fnameescape(places.root .. '/nvim') })
  end
  vim.list_extend(arguments, { '--cmd', 'luafile ' .. vim.fn.fnameescape(self.folders.root .. '/init.lua') })
  vim.list_extend(arguments, options.arguments or {})
  local rpc, feed = Rpc.new(function(method, parameters)
    if method == 'redraw' then
      self.screen:redraw(parameters)
    end
  end)
  self.rpc = rpc
  local size = { width = options.width or 100, height = options.height or 30 }
  if options.terminal then
    local socket = self.folders.root .. '/run/nvim'
    local program = { places.nvim, '--listen', socket, '--cmd', 'set termguicolors', unpack(arguments) }
    self.terminal = Terminal.start(self.folders.root, environment, size, program)
    -- Neovim 0.10 may not answer who asks while it starts.
    self:wait('the first screen', function()
      return vim.trim(self:text()) ~= ''
    end)
    self.process = Terminal.connect(socket, feed)
    rpc:connect(self.process)
  else
    self.process = processes.start(places.nvim, {
      arguments = vim.list_extend({ '--embed' }, arguments),
      environment = environment,
      folder = self.workspace,
      on_output = feed,
    })
    rpc:connect(self.process)
    -- It does not begin before somebody looks at it.
    rpc:request('nvim_ui_attach', size.width, size.height, { ext_linegrid = true, rgb = true })
  end
  self:wait('the first screen', function()
    return self:lua('return vim.v.vim_did_enter == 1') and vim.trim(self:text()) ~= ''
  end)
end

--- All that is on the screen, row by row.
---@return string
function Editor:text()
  return (self.terminal or self.screen):text()
end

--- Writes down what the terminal shows, with its colours, for `tests/pictures/neovim.py`.
---@param name string
function Editor:picture(name)
  local folder = assert(vim.env.REVERIE_PICTURES, 'REVERIE_PICTURES is where pictures go')
  folders.write(('%s/%s.ansi'):format(folder, name), assert(self.terminal, 'in a terminal'):capture())
end

--- Until the condition holds; never without a limit.
---@param what string for the failure, in words: 'the answer'
---@param condition fun(): any
---@param limit? integer how many milliseconds
---@return any
function Editor:wait(what, condition, limit)
  return wait.until_true(what, condition, limit)
end

--- Keys as a user presses them, `<CR>` and the like by name. Returns when they are queued, not when they are done.
---@param keys string
function Editor:keys(keys)
  local taken = 0
  -- It takes as much as it has room for.
  self:wait('room for keys', function()
    taken = taken + self.rpc:request('nvim_input', keys:sub(taken + 1))
    return taken >= #keys
  end)
end

--- A text, letter by letter; nothing in it is a name of a key.
---@param text string
function Editor:type(text)
  self:keys((text:gsub('<', '<lt>'):gsub('\n', '<CR>')))
end

--- As a terminal pastes.
---@param text string
function Editor:paste(text)
  self.rpc:request('nvim_paste', text, false, -1)
end

--- An Ex command, as if it was typed; its failure is an error here.
---@param command string
function Editor:command(command)
  self.rpc:request('nvim_command', command)
end

--- Runs Lua inside of it, with `...`, and returns what it returns.
---@param code string
---@return any
function Editor:lua(code, ...)
  return self.rpc:request('nvim_exec_lua', code, { ... })
end

--- Opens a file of the workspace.
---@param path string
function Editor:open(path)
  self:command('edit ' .. vim.fn.fnameescape(path))
end

--- Of the current buffer, or of the one with this number, or the first whose name has this in it.
---@param buffer? integer | string
---@return string[]
function Editor:lines(buffer)
  return self.rpc:request('nvim_buf_get_lines', self:buffer(buffer), 0, -1, false)
end

---@param buffer? integer | string
---@return integer
function Editor:buffer(buffer)
  if type(buffer) ~= 'string' then
    return buffer or self.rpc:request('nvim_get_current_buf')
  end
  local number = self:lua(
    [[
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_get_name(buffer):find(..., 1, true) then return buffer end
    end
    ]],
    buffer
  )
  return number or error('no buffer is called ' .. buffer, 0)
end

--- Until the text stands on the screen; within one row, as it is drawn.
---@param text string
---@param limit? integer
function Editor:wait_screen(text, limit)
  self:wait(('on the screen, %q'):format(text), function()
    return self:text():find(text, 1, true)
  end, limit)
end

--- Until the text is gone from the screen.
---@param text string
---@param limit? integer
function Editor:wait_gone(text, limit)
  self:wait(('the end of %q on the screen'):format(text), function()
    return not self:text():find(text, 1, true)
  end, limit)
end

--- Until a buffer, by name or number, holds the text; what is folded or scrolled away counts.
---@param buffer? integer | string
---@param text string
---@param limit? integer
function Editor:wait_lines(buffer, text, limit)
  self:wait(('in the buffer, %q'):format(text), function()
    local found, lines = pcall(self.lines, self, buffer)
    return found and table.concat(lines, '\n'):find(text, 1, true)
  end, limit)
end

--- All that `:messages` has.
---@return string
function Editor:messages()
  return self.rpc:request('nvim_exec2', 'messages', { output = true }).output
end

--- Of a file in the workspace, as it is on disk.
---@param path string
---@return string
function Editor:on_disk(path)
  return processes.read(self.workspace .. '/' .. path) or error(path .. ' is not there', 0)
end

--- The servers that run, by their numbers.
---@return integer[]
function Editor:servers()
  local found = {}
  for pid, line in pairs(processes.marked(self.mark)) do
    if line:match('reverie lsp') then
      table.insert(found, pid)
    end
  end
  table.sort(found)
  return found
end

--- The server that runs, once it does; another than the given one.
---@param other? integer
---@return integer
function Editor:server(other)
  return self:wait('a server', function()
    for _, pid in ipairs(self:servers()) do
      if pid ~= other then
        return pid
      end
    end
  end)
end

--- As a crash does: at once, without a word. Which one it was.
---@return integer
function Editor:kill_server()
  local pid = self:server()
  processes.kill(pid)
  self:wait('the end of the server', function()
    return not vim.list_contains(self:servers(), pid)
  end)
  return pid
end

--- What one needs to understand a failure.
---@return string
function Editor:evidence()
  local parts = { '== the screen', self:text() }
  local function add(title, text)
    if text and vim.trim(text) ~= '' then
      vim.list_extend(parts, { '== ' .. title, text })
    end
  end
  if self.process and not self.process.code then
    local told, messages = pcall(self.messages, self)
    add('its messages', told and messages or ('none: ' .. tostring(messages)))
  end
  add("Neovim's stderr", self.process and self.process.errors)
  local logs = vim.fs.find(function(name)
    return name:match('%.log$')
  end, {
    path = self.folders.root,
    limit = math.huge,
    type = 'file',
  })
  for _, path in ipairs(logs) do
    local lines = vim.split(vim.trim(processes.read(path) or ''), '\n')
    add(
      'the end of ' .. vim.fs.basename(path),
      table.concat(vim.list_slice(lines, math.max(1, #lines - 29)), '\n')
    )
  end
  return table.concat(parts, '\n')
end

--- Ends everything; in words what should not have been.
---@param went_well boolean
---@return string[]
function Editor:finish(went_well)
  local problems = {}
  if self.process and not self.process.code then
    -- By keys, since nothing else reaches it in every mode.
    self.rpc:send('nvim_input', '<C-\\><C-n><C-\\><C-n>:qall!<CR>')
    local ended = vim.wait(wait.limit, function()
      return self.process.code ~= nil
    end, 5)
    -- It is swept up with the others then.
    if not ended then
      table.insert(problems, 'Neovim did not end with :qall!\n' .. self:evidence())
    end
  end
  if self.model then
    local fine, problem = pcall(self.model.finish, self.model)
    if not fine or problem then
      table.insert(problems, 'the model: ' .. tostring(problem))
    end
  end
  local left = processes.sweep(self.mark, went_well and 10000 or 1000)
  if went_well and #left > 0 then
    table.insert(problems, 'left behind:\n' .. table.concat(left, '\n'))
  end
  folders.remove(self.folders)
  return problems
end

return Editor
