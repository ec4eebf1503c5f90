--- The options: `vim.g.reverie` and `require('reverie').setup()`, laid over the defaults. A wrong value is told, and the
--- default stands in for it.
local tell = require('reverie.tell')

local M = {}

--- Of the plug-in; the server should be of the same minor version.
M.version = '0.1.0'

---@class reverie.Options
---@field server {path: string, args: string[], env: table<string, string>}
---@field settings table
---@field exit_timeout integer
---@field root false|string|fun(): string
---@field window {position: 'right'|'left'|'bottom'|'top'|'tab', size: number, prompt_height: integer}
---@field save boolean
---@field notify {memory: boolean, dream: boolean}
---@field inline {memory: boolean, changes: boolean}
---@field complete boolean
---@field keys {send: string|false, send_insert: string|false, stop: string|false, close: string|false, help: string|false}

---@class reverie.Option
---@field name string Dotted.
---@field default any
---@field expected string What it must be, in words.
---@field check fun(value: any): boolean

---@param kind string
---@return fun(value: any): boolean
local function is(kind)
  return function(value)
    return type(value) == kind
  end
end

---@param ... string
---@return fun(value: any): boolean
local function one_of(...)
  local words = { ... }
  return function(value)
    return vim.list_contains(words, value)
  end
end

local function is_positive(value)
  return type(value) == 'number' and value > 0
end

local function is_count(value)
  return type(value) == 'number' and value >= 0 and value % 1 == 0
end

local function is_root(value)
  return value == false or type(value) == 'string' or type(value) == 'function'
end

local function is_key(value)
  return value == false or (type(value) == 'string' and value ~= '')
end

local KEY = 'a key, or false for none'

---@type reverie.Option[]
M.options = {
  { name = 'server.path', default = '', expected = 'a path, or empty for the PATH', check = is('string') },
  { name = 'server.args', default = {}, expected = 'a list of arguments', check = vim.islist },
  { name = 'server.env', default = {}, expected = 'a table of variables', check = is('table') },
  { name = 'settings', default = {}, expected = 'a table of settings', check = is('table') },
  { name = 'exit_timeout', default = 3000, expected = 'a whole number of milliseconds', check = is_count },
  { name = 'root', default = false, expected = 'a folder, a function, or false', check = is_root },
  {
    name = 'window.position',
    default = 'right',
    expected = "'right', 'left', 'bottom', 'top' or 'tab'",
    check = one_of('right', 'left', 'bottom', 'top', 'tab'),
  },
  {
    name = 'window.size',
    default = 0.4,
    expected = 'a share of the screen (below 1), or columns or lines',
    check = is_positive,
  },
  {
    name = 'window.prompt_height',
    default = 4,
    expected = 'a whole number of lines',
    check = function(value)
      return is_count(value) and value > 0
    end,
  },
  { name = 'save', default = true, expected = 'true or false', check = is('boolean') },
  { name = 'notify.memory', default = true, expected = 'true or false', check = is('boolean') },
  { name = 'notify.dream', default = true, expected = 'true or false', check = is('boolean') },
  { name = 'inline.memory', default = true, expected = 'true or false', check = is('boolean') },
  { name = 'inline.changes', default = true, expected = 'true or false', check = is('boolean') },
  { name = 'complete', default = true, expected = 'true or false', check = is('boolean') },
  { name = 'keys.send', default = '<CR>', expected = KEY, check = is_key },
  { name = 'keys.send_insert', default = '<C-s>', expected = KEY, check = is_key },
  { name = 'keys.stop', default = '<C-c>', expected = KEY, check = is_key },
  { name = 'keys.close', default = 'q', expected = KEY, check = is_key },
  { name = 'keys.help', default = 'g?', expected = KEY, check = is_key },
}

---@param tree table
---@param name string
local function get(tree, name)
  return vim.tbl_get(tree, unpack(vim.split(name, '.', { plain = true })))
end

---@param tree table
---@param name string
local function set(tree, name, value)
  local keys = vim.split(name, '.', { plain = true })
  local last = table.remove(keys)
  for _, key in ipairs(keys) do
    tree[key] = tree[key] or {}
    tree = tree[key]
  end
  tree[last] = value
end

--- Names in `given` that are no option, dotted.
---@param given table
---@param prefix string
---@param known table<string, boolean>
---@return string[]
local function strangers(given, prefix, known)
  local found = {}
  for key, value in pairs(given) do
    local name = prefix .. tostring(key)
    if known[name] == nil then
      found[#found + 1] = name
    elseif known[name] == false then
      if type(value) == 'table' then
        vim.list_extend(found, strangers(value, name .. '.', known))
      else
        found[#found + 1] = name
      end
    end
  end
  return found
end

--- The options and what is wrong with those that were given.
---@param given table
---@return reverie.Options options
---@return string[] problems
function M.merge(given)
  local options, problems = {}, {}
  -- True for an option, false for a table that holds some.
  local known = {}
  for _, option in ipairs(M.options) do
    local parent = option.name:match('^(.*)%.')
    if parent then
      known[parent] = false
    end
    known[option.name] = true
    local value = get(given, option.name)
    if value ~= nil and not option.check(value) then
      local shown = vim.inspect(value, { newline = ' ', indent = '' })
      problems[#problems + 1] = ('%s is %s, and must be %s'):format(option.name, shown, option.expected)
      value = nil
    end
    if value == nil then
      value = vim.deepcopy(option.default)
    end
    set(options, option.name, value)
  end
  for _, name in ipairs(strangers(given, '', known)) do
    problems[#problems + 1] = ('there is no option %s'):format(name)
  end
  table.sort(problems)
  ---@cast options reverie.Options
  return options, problems
end

---@type table?
local from_setup
---@type reverie.Options?
local effective

---@param options table?
function M.set(options)
  if options ~= nil and type(options) ~= 'table' then
    tell.error('setup() takes a table of options (:help reverie-options)')
    options = nil
  end
  from_setup = options
  effective = nil
  M.get()
end

--- What the user has set, in both ways.
---@return table
function M.given()
  local global = vim.g.reverie
  if global ~= nil and type(global) ~= 'table' then
    tell.error('vim.g.reverie must be a table')
    global = nil
  end
  return vim.tbl_deep_extend('force', global or {}, from_setup or {}) --[[@as table]]
end

---@return reverie.Options
function M.get()
  if effective then
    return effective
  end
  local problems
  effective, problems = M.merge(M.given())
  if #problems == 1 then
    tell.error(problems[1] .. ' (:help reverie-options)')
  elseif #problems > 1 then
    tell.error(
      ('%d options are wrong (:checkhealth reverie): %s'):format(#problems, table.concat(problems, '; '))
    )
  end
  return effective
end

--- Once the server runs, that stays its folder, wherever the user goes and however often it is started again.
---@type string?
local pinned

---@return string
function M.pin_root()
  pinned = M.root()
  return pinned
end

function M.unpin_root()
  pinned = nil
end

--- The folder that the server works in: what the option says, else the repository around the current folder, else that.
---@return string
function M.root()
  if pinned then
    return pinned
  end
  local root = M.get().root
  if type(root) == 'function' then
    root = root()
  end
  if type(root) == 'string' then
    return (vim.fs.normalize(vim.fn.fnamemodify(root, ':p')):gsub('(.)/$', '%1'))
  end
  local here = vim.fn.getcwd()
  return vim.fs.root(here, '.git') or here
end

--- A path as it is shown: what lies in the folder of the server from there on, wherever the user is.
---@param path string
---@return string
function M.shorten(path)
  local root = M.root() .. '/'
  return vim.startswith(path, root) and path:sub(#root + 1) or vim.fn.fnamemodify(path, ':~')
end

--- The path that is meant by one as it is shown.
---@param path string
---@return string
function M.whole(path)
  local is_whole = vim.startswith(path, '/') or vim.startswith(path, '~/')
  return vim.fs.normalize(is_whole and path or vim.fs.joinpath(M.root(), path))
end

return M
