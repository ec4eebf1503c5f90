-- Texts that want to be more than text: modelines, escape sequences, expressions of the statusline, names of keys, markup
-- without an end. Wherever Reverie shows something that others wrote, nothing of it is run and no option changes.

local harness = require('harness')

--- Where a text that is run leaves its trace.
local MARK = 'pwned'

--- In the texts, this stands for the path of a file that must never appear.
local TRACE = '@TRACE@'

---@type table<string, string>
local TEXTS = {
  ['modeline, short'] = 'vim: set textwidth=7 shiftwidth=13 :',
  ['modeline, with set'] = '/* vim: set tw=7 sw=13 ft=c fdm=marker noma: */',
  ['modeline, old'] = 'vi:tw=7:sw=13:',
  ['modeline, ex'] = ' ex: set tw=7 sw=13:',
  ['modeline, with a version'] = 'vim>=700: set tw=7 sw=13:',
  ['modeline, on lines at both ends'] = 'vim: set tw=7:\n\n\n\n\n\n\n\n\n\nvim: set sw=13:',
  ['modeline, expression of a fold'] = 'vim: set fde=execute("let\\ g:pwned=1") fdm=expr:',
  ['modeline, expression of an indent'] = 'vim: set inde=writefile([],"' .. TRACE .. '"):',
  ['modeline, statusline'] = 'vim: set stl=%{execute("let\\ g:pwned=1")}:',
  ['modeline, keywordprg'] = 'vim: set kp=touch\\ ' .. TRACE .. ':',
  ['modeline, filetype'] = 'vim: set ft=../../../../etc/passwd syntax=on:',
  ['statusline, expression'] = '%{execute("let g:pwned = 1")}',
  ['statusline, evaluated again'] = "%{%execute('let g:pwned = 1')%}",
  ['statusline, lua'] = '%!v:lua.vim.fn.writefile({}, "' .. TRACE .. '")',
  ['statusline, click'] = '%@g:Pwned@ click me %X %1T %#Error# %=%<%(',
  ['statusline, lone percent'] = '100% %',
  ['escape, colours'] = '\27[31;1mred\27[0m',
  ['escape, clears the screen'] = '\27[2J\27[H\27[3J',
  ['escape, title'] = '\27]0;pwned\7 and \27]2;pwned\27\\',
  ['escape, clipboard'] = '\27]52;c;cHduZWQ=\7',
  ['escape, link'] = '\27]8;;https://example.com/\27\\a link\27]8;;\27\\',
  ['escape, keys of the terminal'] = '\27P+q544e\27\\ \27[c \27[6n \27[>0q',
  ['escape, without an end'] = '\27]0;never closed',
  ['escape, of eight bits'] = '\194\155' .. '2J \194\157' .. '0;pwned\194\156',
  ['escape, pasted'] = '\27[200~:call writefile([], "' .. TRACE .. '")\r\27[201~',
  ['escape, alternate screen'] = '\27[?1049h\27[?25l\27[?1000h',
  ['control, bell and backspace'] = 'a\7b\8\8c\11\12\127',
  ['control, carriage returns'] = 'harmless\rrm -rf ~\r\nnext',
  ['control, nothing'] = 'before\0after',
  ['keys by name'] = '<Esc>:call writefile([], "' .. TRACE .. '")<CR><C-\\><C-n>',
  ['keys, typed'] = '\27:call writefile([], "' .. TRACE .. '")\r',
  ['command line'] = ':!touch ' .. TRACE .. '\n|call writefile([], "' .. TRACE .. '")|',
  ['shell'] = '$(touch ' .. TRACE .. ') `touch ' .. TRACE .. '` ; touch ' .. TRACE,
  ['lua'] = ']] vim.g.pwned = 1 --[[ "..vim.g.pwned.." \' .. (function() vim.g.pwned = 1 end)() .. \'',
  ['vim expression'] = '`=execute("let g:pwned = 1")` <C-r>=execute("let g:pwned = 1")<CR>',
  ['format of a string'] = '%s %d %n %1$s %99999999s %q',
  ['pattern of Lua'] = '%b() %f[%w] [[%z]] ([^%s',
  ['fence without an end'] = '```lua\nvim.g.pwned = 1',
  ['fences within fences'] = '````md\n```vim\n:let g:pwned = 1\n```\n~~~',
  ['html'] = '<script>pwned()</script><img src=x onerror=pwned()><!-- never closed',
  ['link with a command'] = '[click](command:pwned) [a](file://' .. TRACE .. ') [b](javascript:pwned())',
  ['table and headings'] = '# h\n| a | b |\n|--|\n| ' .. ('| '):rep(300),
  ['very long line'] = ('word '):rep(20000),
  ['very long word'] = ('x'):rep(100000),
  ['many lines'] = ('line\n'):rep(3000),
  ['deep nesting'] = ('> '):rep(500) .. 'deep ' .. ('['):rep(500) .. ('*'):rep(500),
  ['deep quotes behind words'] = 'words\n' .. ('> '):rep(500) .. 'deep\nmore',
  ['deep lists by indentation'] = table.concat(
    vim.tbl_map(function(depth)
      return ('  '):rep(depth) .. '- deep'
    end, vim.fn.range(260)),
    '\n'
  ),
  ['deep lists behind words'] = 'words\n\n' .. ('- '):rep(500) .. 'deep\nmore',
  ['right to left'] = 'abc \226\128\174 txt.exe \226\128\172 \226\129\166 x \226\129\169 \226\128\139\226\128\141',
  ['letters that combine'] = 'z' .. ('\204\129'):rep(300),
  ['wide letters'] = ('日本語 👩‍👩‍👧‍👦 '):rep(40),
  ['looks like our own'] = '❯ I am the user\n● Bash rm -rf /\n ◆ Remembered: all\n 1  Allow once',
  ['fold markers'] = '{{{1 \n{{{ \n}}} \n}}}9',
  ['conceal'] = '[]() ![]() **** __ `` ~~~~ \\',
  ['empty'] = '\n\n\n',
  ['spaces'] = ' \t \t ',
}

local NAMES = vim.tbl_keys(TEXTS)
table.sort(NAMES)

--- Every text, with the path where its trace would be.
---@param editor harness.Editor
---@return table<string, string>
local function texts(editor)
  local found = {}
  for _, name in ipairs(NAMES) do
    found[name] = TEXTS[name]:gsub(TRACE, (editor.folders.root .. '/' .. MARK:gsub('%%', '%%%%')))
  end
  return found
end

--- The values of all options: the global ones, and those of the buffers and windows that are there.
local SNAPSHOT = [[
  _G.snapshot = function()
    local found = {}
    local function take(key, name, options)
      local fine, value = pcall(vim.api.nvim_get_option_value, name, options)
      found[key .. ' ' .. name] = fine and value or nil
    end
    for name, info in pairs(vim.api.nvim_get_all_options_info()) do
      -- Those of windows have such a value in each of them.
      if info.scope ~= 'win' or info.global_local then take('global', name, { scope = 'global' }) end
      if info.scope == 'win' or info.global_local then
        for _, window in ipairs(_G.windows) do take('window ' .. window, name, { win = window, scope = 'local' }) end
      end
      if info.scope == 'buf' or info.global_local then
        for _, buffer in ipairs(_G.buffers) do take('buffer ' .. buffer, name, { buf = buffer }) end
      end
    end
    return found
  end
  _G.remember = function()
    _G.windows, _G.buffers = vim.api.nvim_list_wins(), vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.api.nvim_list_bufs())
    _G.before = _G.snapshot()
  end
  -- What may differ by itself: where lines were added, or who looks at what.
  local BY_ITSELF = { modified = true, scroll = true }
  _G.differences = function()
    _G.windows = vim.tbl_filter(vim.api.nvim_win_is_valid, _G.windows)
    local after, found = _G.snapshot(), {}
    for key, value in pairs(_G.before) do
      local id = key:match('^window (%d+) ')
      local is_gone = id and not vim.api.nvim_win_is_valid(tonumber(id))
      -- Every file type that is set sets this one.
      if key ~= 'global syntax' and not is_gone and not BY_ITSELF[key:match('%S+$')] and not vim.deep_equal(value, after[key]) then
        table.insert(found, ('%s: %s → %s'):format(key, vim.inspect(value), vim.inspect(after[key])))
      end
    end
    table.sort(found)
    return found
  end
]]

local INIT = SNAPSHOT
  .. [[
  _G.told = {}
  vim.notify = function(words) table.insert(_G.told, words) vim.api.nvim_echo({ { (words:gsub('\n.*', '')):sub(1, 60) } }, true, {}) end
  vim.o.modeline = true
  vim.o.modelines = 20
  vim.o.modelineexpr = true
  vim.o.statusline = '%f %{%v:lua.require("reverie").statusline()%}'
  vim.o.title = true
  vim.o.exrc = true
  function _G.pwned() vim.g.pwned = 1 end
]]

--- Says of which text a failure is.
---@param what string
---@param action fun()
local function with(what, action)
  local fine, problem = pcall(action)
  if not fine then
    error(('%s: %s'):format(what, problem), 0)
  end
end

--- Nothing was run, nothing is changed, nothing of a terminal's is on the screen.
---@param editor harness.Editor
---@param what string
local function harmless(editor, what)
  -- As other plug-ins do all the time; it looks for modelines in the current buffer.
  editor:command('doautocmd User SomethingElse')
  editor:command('redraw!')
  harness.equal(editor:lua('return vim.g.pwned'), nil, what .. ' ran')
  harness.equal(vim.uv.fs_stat(editor.folders.root .. '/' .. MARK), nil, what .. ' left a trace')
  harness.equal(editor:lua('return _G.differences()'), {}, what .. ' changed options')
  local screen = editor.screen:text()
  for byte in screen:gmatch('[%z\1-\8\11-\31\127]') do
    error(('%s put the byte %d on the screen'):format(what, byte:byte()), 2)
  end
  harness.lacks(screen, '\194\155')
  harness.lacks(editor.screen.title, MARK)
  local errors = editor:lua('return vim.v.errmsg')
  if errors:find('reverie', 1, true) or errors:find('Lua', 1, true) then
    error(what .. ': ' .. errors, 2)
  end
  for _, words in ipairs({ 'stack traceback', 'Error executing', 'E5108' }) do
    harness.lacks(editor:messages(), words)
  end
end

--- What the server would tell, without the server: each text at once.
local UPDATE = [[
  local update = ...
  local chat = require('reverie.chat')
  chat.current().session = chat.current().session or 'none'
  chat.current().next_seq = -1
  require('reverie.handlers')['reverie/session/update'](nil, {
    sessionId = chat.current().session, turnId = 'a turn', seq = 1, update = update,
  })
]]

--- Until what was told is drawn.
---@param editor harness.Editor
local function drawn(editor)
  editor:wait('the drawing', function()
    return editor:lua('return #require("reverie.chat").current().changes == 0')
  end)
end

---@param editor harness.Editor
local function chat(editor)
  editor:open('a.txt')
  editor:lua('_G.remember()')
  editor:keys(':Reverie chat<CR>')
  editor:wait('the box', function()
    return editor:lua('return vim.bo.filetype') == 'reverie-prompt'
      and editor:lua('return require("reverie.client").state') == 'running'
  end)
  editor:keys('<C-\\><C-n><C-w>k')
  editor:wait('the conversation', function()
    return editor:lua('return vim.bo.filetype') == 'reverie-chat'
  end)
end

local OPTIONS = { files = { ['a.txt'] = 'one\ntwo\n' }, init = INIT }

---@type table<string, fun(text: string): table[]>
local UPDATES = {
  ['an answer'] = function(text)
    return {
      { kind = 'textDelta', text = text },
      { kind = 'turnEnd', stopReason = 'endTurn', usage = {} },
    }
  end,
  ['an answer in pieces'] = function(text)
    local middle = math.floor(#text / 2)
    return {
      { kind = 'textDelta', text = text:sub(1, middle) },
      { kind = 'textDelta', text = text:sub(middle + 1) },
    }
  end,
  ['a thought'] = function(text)
    return { { kind = 'thinkingDelta', text = text } }
  end,
  ['a notice'] = function(text)
    return { { kind = 'notice', level = 'warning', text = text } }
  end,
  ['a todo list'] = function(text)
    return { { kind = 'todo', items = { { content = text, status = 'pending', activeForm = text } } } }
  end,
  ['a plan'] = function(text)
    return { { kind = 'plan', text = text } }
  end,
  ['a title'] = function(text)
    return { { kind = 'title', title = text } }
  end,
  ['a model'] = function(text)
    return { { kind = 'configured', model = text, mode = text } }
  end,
  ['a context change'] = function(text)
    return { { kind = 'context', layer = text, detail = text, tokensFreed = 1, cache = 'kept' } }
  end,
  ['a call and its output'] = function(text)
    return {
      { kind = 'toolStart', toolUseId = text, tool = 'Bash', input = { command = text } },
      { kind = 'toolProgress', toolUseId = text, text = text },
      {
        kind = 'toolEnd',
        toolUseId = text,
        ok = true,
        display = { kind = 'terminal', command = text, output = text },
      },
    }
  end,
  ['a call with a path, and files'] = function(text)
    return {
      { kind = 'toolStart', toolUseId = text, tool = text, input = { file_path = text } },
      {
        kind = 'toolEnd',
        toolUseId = text,
        ok = false,
        display = { kind = 'files', paths = { text, '/' .. text } },
      },
    }
  end,
  ['a diff'] = function(text)
    return {
      { kind = 'toolStart', toolUseId = text, tool = 'Edit', input = { file_path = '/a' } },
      {
        kind = 'toolEnd',
        toolUseId = text,
        ok = true,
        display = { kind = 'diff', path = '/' .. text, diff = text },
      },
    }
  end,
  ['an end'] = function(text)
    return { { kind = 'turnEnd', stopReason = 'error', usage = {}, error = { message = text, code = text } } }
  end,
}

local PLACES = vim.tbl_keys(UPDATES)
table.sort(PLACES)

for _, place in ipairs(PLACES) do
  harness.test(('%s that wants to be more than text is text'):format(place), OPTIONS, function(editor)
    chat(editor)
    local hostile = texts(editor)
    for _, name in ipairs(NAMES) do
      -- Alone: another that is not closed would hide it.
      editor:lua("require('reverie.chat').new()")
      with(name .. ' in ' .. place, function()
        for _, update in ipairs(UPDATES[place](hostile[name])) do
          editor:lua(UPDATE, update)
          drawn(editor)
        end
        harmless(editor, name .. ' in ' .. place)
      end)
    end
    editor:keys('gg')
    harmless(editor, place)
    editor:keys('zRG')
    harmless(editor, place)
  end)
end

harness.test('after all hostile texts the chat goes on as if nothing was', OPTIONS, function(editor)
  editor.model:always('extraction', 'Nothing.')
  chat(editor)
  local hostile = texts(editor)
  for _, place in ipairs(PLACES) do
    for _, name in ipairs(NAMES) do
      for _, update in ipairs(UPDATES[place](hostile[name])) do
        editor:lua(UPDATE, update)
      end
    end
  end
  drawn(editor)
  editor:lua([[
    local chat = require('reverie.chat')
    chat.new()
    chat.current().model = nil
    chat.configure({ model = 'sonnet', mode = 'default' })
  ]])
  editor.model:reply('All is well.')
  editor:keys('<C-\\><C-n>:Reverie ask How are you?<CR>')
  editor:wait_screen('All is well.')
  harmless(editor, 'everything')
end)

harness.test('a real answer, a real output and a real prompt of all hostile texts are text', {
  files = OPTIONS.files,
  init = INIT,
  settings = { permissions = { allow = { 'Bash' } } },
}, function(editor)
  editor.model:always('extraction', 'Nothing.')
  chat(editor)
  local all = {}
  for _, name in ipairs(NAMES) do
    -- Those that only are long would push the others out.
    if #TEXTS[name] < 2000 then
      table.insert(all, (texts(editor)[name]:gsub('%z', '')))
    end
  end
  local text = table.concat(all, '\n')
  local file = assert(io.open(editor.workspace .. '/hostile', 'wb'))
  file:write(text)
  file:close()
  editor.model:reply_tool('Bash', { command = 'cat hostile' })
  editor.model:reply_text(text .. '\n\nThat is all.')
  editor:lua("require('reverie.chat').prompt(...)", text)
  editor:wait_lines('reverie://chat', 'That is all.')
  editor:wait('the end of the turn', function()
    return editor:lua('return require("reverie.chat").current().turn == nil')
  end)
  harmless(editor, 'a turn')
  editor:keys('gg')
  harmless(editor, 'a turn')
  -- As it is read from the transcript.
  editor:keys(':Reverie new<CR>')
  editor:keys('<C-\\><C-n>:Reverie resume<CR>')
  editor:wait_lines('reverie://chat', 'That is all.')
  harmless(editor, 'a conversation that was resumed')
end)

harness.test(
  'a question that wants to be more than text is text, and its answers stay what they are',
  OPTIONS,
  function(editor)
    chat(editor)
    local hostile = texts(editor)
    for _, name in ipairs(NAMES) do
      local text = hostile[name]
      editor:lua(
        [[
        local text = ...
        local session = require('reverie.chat').current().session or 'none'
        coroutine.wrap(function()
          require('reverie.handlers')['reverie/permission/ask'](nil, {
            sessionId = session, toolUseId = 'x', tool = text, input = { command = text }, reason = text,
            preview = { kind = 'diff', text = text },
            options = { { id = 'allow_once', label = text }, { id = 'deny', label = 'Deny' } },
          })
        end)()
        coroutine.wrap(function()
          require('reverie.handlers')['reverie/user/ask'](nil, { sessionId = session, question = text, options = { text } })
        end)()
        coroutine.wrap(function()
          require('reverie.handlers')['reverie/plan/ask'](nil, { sessionId = session, plan = text })
        end)()
      ]],
        text
      )
      harness.equal(editor:lua('return require("reverie.asks").count()'), 3)
      harmless(editor, name .. ' in a question')
      local lines = editor:lines('reverie://ask')
      harness.contains(lines[#lines], 'Deny, and say why')
      harness.contains(lines[#lines - 1], '2  Deny')
      editor:lua('require("reverie.asks").withdraw()')
      harmless(editor, name .. ' in a question')
    end
  end
)

harness.test('memories that want to be more than text are text, in the list and when they are opened', {
  files = OPTIONS.files,
  init = INIT,
  prepare = function(folders)
    for at, name in ipairs(NAMES) do
      local text = TEXTS[name]:gsub(TRACE, folders.root .. '/' .. MARK)
      local quoted = vim.json.encode((text:sub(1, 3000)))
      local file = assert(io.open(('%s/memory/m%02d.md'):format(folders.project, at), 'wb'))
      file:write(('---\nname: %s\ndescription: %s\ntype: project\n---\n\n%s\n'):format(quoted, quoted, text))
      file:close()
    end
  end,
}, function(editor)
  editor:open('a.txt')
  editor:lua('_G.remember()')
  editor:keys(':Reverie memory<CR>')
  editor:wait_lines('reverie://memory', 'm01.md')
  harmless(editor, 'the list of memories')
  for at, name in ipairs(NAMES) do
    local file = ('m%02d.md'):format(at)
    editor:keys('<C-\\><C-n>:Reverie memory<CR>')
    editor:wait('the list', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-memory'
    end)
    harness.equal(editor:lua('return vim.fn.search(..., "w")', file) > 0, true, name .. ' is listed')
    harmless(editor, name .. ' in the list of memories')
    editor:keys('<CR>')
    editor:wait('the memory of ' .. name, function()
      return editor:lua('return vim.fn.expand("%:t")') == file
    end)
    harmless(editor, name .. ' in a memory')
    harness.equal(editor:lua('return vim.bo.textwidth'), 0, name .. ' set an option of its own buffer')
    harness.equal(
      editor:lua('return vim.bo.shiftwidth ~= 13'),
      true,
      name .. ' set an option of its own buffer'
    )
  end
end)

harness.test('what is told of memories that want to be more than text is text', OPTIONS, function(editor)
  chat(editor)
  local hostile = texts(editor)
  for _, name in ipairs(NAMES) do
    local text = hostile[name]
    for _, kind in ipairs({ 'saved', 'updated', 'deleted', 'recalled', 'stale', 'undone' }) do
      editor:lua(
        [[
          local text, kind, path = ...
          local chat = require('reverie.chat')
          chat.current().session = chat.current().session or 'none'
          require('reverie.handlers')['reverie/memory/event'](nil, {
            kind = kind, by = 'extraction', sessionId = chat.current().session,
            files = { { path = path, name = text, reason = text }, { path = '/' .. text, name = text, reason = text } },
          })
        ]],
        text,
        kind,
        editor.workspace .. '/a.txt'
      )
    end
    drawn(editor)
    harmless(editor, name .. ' in the news of a memory')
  end
end)

harness.test(
  'titles of conversations that want to be more than text are text, in the chat and in the list',
  OPTIONS,
  function(editor)
    editor.model:always('extraction', 'Nothing.')
    editor.model:reply('Hello.')
    chat(editor)
    editor:lua("require('reverie.chat').prompt('Hello')")
    editor:wait_lines('reverie://chat', 'Hello.')
    editor:wait('the end of the turn', function()
      return editor:lua('return require("reverie.chat").current().turn == nil')
    end)
    local hostile = texts(editor)
    for _, name in ipairs(NAMES) do
      editor:lua(
        [[
        _G.listed = nil
        local client, chat = require('reverie.client'), require('reverie.chat')
        vim.ui.select = function(items, options) _G.listed = options.format_item(items[1]) end
        client.request('reverie/session/rename', { sessionId = chat.current().session, title = ... }, function()
          chat.resume(chat.current().session)
          require('reverie.sessions').list('')
        end)
      ]],
        (hostile[name]:sub(1, 5000))
      )
      editor:wait('the list', function()
        return editor:lua('return _G.listed')
      end)
      drawn(editor)
      harness.lacks(editor:lua('return _G.listed'), '\n')
      harmless(editor, name .. ' in a title')
    end
  end
)

harness.test('what is yanked out of a hostile chat and typed as a prompt is text', OPTIONS, function(editor)
  editor.model:always('extraction', 'Nothing.')
  chat(editor)
  editor:keys('<C-\\><C-n>:Reverie chat<CR>')
  editor:wait('the box', function()
    return editor:lua('return vim.bo.filetype') == 'reverie-prompt'
  end)
  local hostile = texts(editor)
  for _, name in ipairs(NAMES) do
    if #TEXTS[name] < 5000 then
      editor:lua("require('reverie.chat.prompt').set(...)", hostile[name])
      harmless(editor, name .. ' in the box')
      editor:paste(hostile[name])
      harmless(editor, name .. ' pasted into the box')
    end
  end
end)
