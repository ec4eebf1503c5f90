-- `:help reverie` is whole, and says all that there is to say: tags are there once, references lead somewhere, each
-- subcommand and each option is described.
--
-- nvim --clean --headless -l help.lua
local here = assert(vim.uv.fs_realpath(vim.fs.dirname(assert(debug.getinfo(1, 'S')).source:sub(2))))
local plugin = vim.fs.dirname(vim.fs.dirname(here)) .. '/nvim'
vim.opt.runtimepath:prepend(plugin)

local findings = {}
local function find(words, ...)
  table.insert(findings, words:format(...))
end

--- The lines of a help file with their numbers, without those that are code.
local function prose(path)
  local code = false
  local lines = {}
  for number, line in ipairs(vim.fn.readfile(path)) do
    -- Code ends where a line begins at the margin, or with a `<` there.
    if code and line:match('^%S') then
      code = false
      line = line:gsub('^<', '')
    end
    if not code then
      table.insert(lines, { number = number, text = line })
      code = line:match('^>%l*$') ~= nil or line:match(' >%l*$') ~= nil
    end
  end
  return lines
end

--- Builds the tags of a copy, so that none are left in the repository.
local function build_tags()
  local copy = vim.fn.tempname()
  vim.fn.mkdir(copy, 'p')
  for name in vim.fs.dir(plugin .. '/doc') do
    if name:match('%.txt$') then
      assert(vim.uv.fs_copyfile(plugin .. '/doc/' .. name, copy .. '/' .. name))
    end
  end
  local fine, failure = pcall(vim.cmd.helptags, vim.fn.fnameescape(copy))
  if not fine then
    find(':helptags: %s', failure)
  end
  local tags = {}
  for _, file in ipairs({ copy .. '/tags', vim.env.VIMRUNTIME .. '/doc/tags' }) do
    if vim.uv.fs_stat(file) then
      for _, line in ipairs(vim.fn.readfile(file)) do
        tags[line:match('^[^\t]+')] = true
      end
    end
  end
  return tags
end

--- Runs what the plugin says about itself; a finding if it does not.
local function told(what, ask)
  local fine, answer = pcall(ask)
  if not fine or type(answer) ~= 'table' then
    find('%s: %s', what, tostring(answer))
    return {}
  end
  return answer
end

local function option_names()
  local names = {}
  for _, option in ipairs(require('reverie.config').options) do
    table.insert(names, option.name)
  end
  return names
end

local function command_names()
  return require('reverie.commands').names()
end

local path = plugin .. '/doc/reverie.txt'
if vim.uv.fs_stat(path) then
  local tags = build_tags()
  for _, line in ipairs(prose(path)) do
    -- What stands in backticks is code as well.
    for reference in line.text:gsub('`[^`]*`', ''):gmatch('|([^%s|]+)|') do
      if not tags[reference] then
        find('doc/reverie.txt:%d: |%s| leads nowhere', line.number, reference)
      end
    end
  end
  local text = table.concat(vim.fn.readfile(path), '\n')
  for _, name in ipairs(told("require('reverie.commands').names()", command_names)) do
    if not tags[':Reverie-' .. name] then
      find('doc/reverie.txt: `:Reverie %s` has no tag *:Reverie-%s*', name, name)
    end
  end
  for _, name in ipairs(told("require('reverie.config').options", option_names)) do
    if not (tags['reverie-' .. name] or text:find('`' .. name .. '`', 1, true)) then
      find('doc/reverie.txt: no word about the option `%s`, and no tag *reverie-%s*', name, name)
    end
  end
else
  find('nvim/doc/reverie.txt is missing')
end

for _, finding in ipairs(findings) do
  io.stdout:write(finding, '\n')
end
os.exit(#findings == 0 and 0 or 1)
