-- `:checkhealth reverie`: each thing that is missing is found, in words, with its cure. And what the plug-in costs at start.

local harness = require('harness')

--- Runs it and returns what it says.
---@param editor harness.Editor
---@return string
local function checked(editor)
  editor:keys(':checkhealth reverie<CR>')
  editor:wait('the report', function()
    return editor:lua(
      "return vim.bo.filetype == 'checkhealth' and vim.fn.search('reverie', 'nw') > 0 and vim.fn.line('$') > 4"
    )
  end)
  return table.concat(editor:lines(), '\n')
end

--- The lines from the one that has these words to the next finding.
---@param report string
---@param words string
---@return string
local function finding(report, words)
  local lines, found = vim.split(report, '\n'), nil
  for _, line in ipairs(lines) do
    if found and line:match('^%- ') then
      break
    elseif found then
      table.insert(found, line)
    elseif line:lower():find(words:lower(), 1, true) and line:match('^%- ') then
      found = { line }
    end
  end
  return found and table.concat(found, '\n') or error(('no finding has %q in:\n%s'):format(words, report), 2)
end

--- A program that says it is another version.
---@param version string
local function pretender(version)
  return function(folders)
    local path = folders.root .. '/pretender'
    local file = assert(io.open(path, 'w'))
    file:write(('#!/bin/sh\necho "%s"\n'):format(version))
    file:close()
    assert(vim.uv.fs_chmod(path, 493))
    assert(vim.uv.fs_symlink(path, folders.root .. '/bin/reverie'))
  end
end

harness.test('with all that it needs, health finds no error', {}, function(editor)
  local report = checked(editor)
  harness.lacks(report, 'ERROR')
  harness.contains(finding(report, 'reverie 0.'), 'OK')
  harness.contains(report, 'model')
  harness.contains(report, 'trust')
  harness.contains(report, 'sandbox')
end)

harness.test(
  'health finds that there is no server, and says how to get one',
  { server = '' },
  function(editor)
    local found = finding(checked(editor), 'PATH')
    harness.contains(found, 'ERROR')
    harness.contains(found, 'ADVICE')
    harness.contains(found, 'server.path')
  end
)

harness.test('health finds that server.path names no program', {
  init = "vim.g.reverie = { server = { path = '/nowhere/reverie' } }",
}, function(editor)
  local found = finding(checked(editor), '/nowhere/reverie')
  harness.contains(found, 'ERROR')
  harness.contains(found, 'ADVICE')
end)

harness.test('health finds a server of another version, and says which to update', {
  server = '',
  prepare = pretender('reverie 99.1.0'),
}, function(editor)
  local found = finding(checked(editor), '99.1.0')
  harness.contains(found, 'ERROR')
  harness.contains(found, '0.1.0')
  harness.contains(found, 'ADVICE')
end)

harness.test('health finds a program of that name that is not Reverie', {
  server = '',
  prepare = pretender('GNU reverie, a text formatter'),
}, function(editor)
  local found = finding(checked(editor), 'bin/reverie')
  harness.contains(found, 'ERROR')
  harness.contains(found, 'ADVICE')
end)

harness.test(
  'health finds that no model is set up, and says how to set one up',
  { offline = true },
  function(editor)
    local found = finding(checked(editor), 'model')
    harness.equal(found:find('WARNING', 1, true) ~= nil or found:find('ERROR', 1, true) ~= nil, true, found)
    harness.contains(found, 'ADVICE')
    harness.contains(found, 'ANTHROPIC_API_KEY')
  end
)

harness.test('health finds a folder that is not trusted, and says how to trust it', {
  untrusted = true,
  files = {
    ['.claude/settings.json'] = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}',
  },
}, function(editor)
  local found = finding(checked(editor), 'trust')
  harness.contains(found, 'WARNING')
  harness.contains(found, ':Reverie trust')
end)

--- The server on a kernel without Landlock: strace says so to it.
local WITHOUT_WALLS = [[
#!/bin/sh
exec strace -f -qq -o /dev/null -e trace=landlock_create_ruleset \
  -e inject=landlock_create_ruleset:error=ENOSYS %s/reverie "$@"
]]

harness.test('health finds that commands run without walls, and says what helps', {
  server = '',
  prepare = function(folders)
    local build = vim.env.REVERIE_BUILD or (vim.fn.getcwd() .. '/target/debug')
    local program = folders.root .. '/bin/reverie'
    vim.fn.writefile(vim.split(WITHOUT_WALLS:format(build), '\n'), program)
    assert(vim.uv.fs_chmod(program, tonumber('755', 8)))
  end,
}, function(editor)
  local found = finding(checked(editor), 'sandbox')
  harness.contains(found, 'WARNING')
  harness.contains(found, 'ADVICE')
  harness.contains(found, 'Landlock')
end)

harness.test('health says that commands run behind walls', {}, function(editor)
  harness.contains(finding(checked(editor), 'sandbox'), 'OK')
end)

harness.test('health finds wrong options, of vim.g.reverie and of setup', {
  init = 'vim.g.reverie = { widnow = 1 } vim.notify = function() end',
}, function(editor)
  editor:lua("require('reverie').setup({ save = 'perhaps' })")
  local report = checked(editor)
  harness.contains(finding(report, 'widnow'), 'ERROR')
  harness.contains(finding(report, 'save'), 'ERROR')
end)

harness.test(
  'health says so when vim.g.reverie is no table',
  { init = "vim.g.reverie = 'right' vim.notify = function() end" },
  function(editor)
    local report = checked(editor)
    harness.contains(finding(report, 'vim.g.reverie'), 'ERROR')
    harness.lacks(report, 'Failed to run healthcheck')
  end
)

harness.test(
  'without a server the chat says what is missing and how to get it, once, and keeps the words',
  { server = '' },
  function(editor)
    editor:keys(':Reverie chat<CR>')
    editor:wait('the box', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-prompt'
    end)
    editor:wait('words', function()
      return editor
        :lua(
          "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('reverie://chat'), 0, -1, false), '\\n')"
        )
        :find('PATH', 1, true) or editor.screen:text():find('PATH', 1, true)
    end)
    harness.lacks(editor.screen:text(), 'Press ENTER')
  end
)

harness.test('health works with a server of which the folder of the configuration cannot be written', {
  prepare = function(folders)
    vim.uv.fs_chmod(folders.configuration, 320)
  end,
  untrusted = true,
}, function(editor)
  local report = checked(editor)
  vim.uv.fs_chmod(editor.folders.configuration, 448)
  harness.lacks(report, 'Failed to run healthcheck')
end)

harness.test('nothing of the plug-in is loaded before it is used', {
  init = [[vim.o.statusline = '%f %{%v:lua.require("reverie").statusline()%}']],
}, function(editor)
  editor:command('redrawstatus!')
  local loaded = editor:lua([[
    return vim.tbl_filter(function(name) return vim.startswith(name, 'reverie') end, vim.tbl_keys(package.loaded))
  ]])
  table.sort(loaded)
  harness.equal(loaded, { 'reverie', 'reverie.statusline' })
  harness.equal(editor:servers(), {})
end)
