-- The user's buffers while the agent works: edits arrive as one step of undo, are written as the user wants, are never
-- half-applied, and what a command changed on disk is read again without losing anything.

local harness = require('harness')
local user = require('user')

--- Until the turn is over and all that follows from it is done.
---@param editor harness.Editor
local function ended(editor)
  editor:wait('the end of the turn', function()
    return editor:lua('return require("reverie.chat").current().turn == nil and _G.ended ~= nil')
  end)
end

local ENDED = [[
  vim.api.nvim_create_autocmd('User', { pattern = 'ReverieTurnEnd', callback = function() _G.ended = true end })
]]

--- A user's own answer to `vim.ui.select`, as a picker plug-in gives it: nothing blocks.
local PICKER = ENDED
  .. [[
  _G.asked = {}
  vim.ui.select = function(items, options, done)
    table.insert(_G.asked, { items = items, prompt = options.prompt, kind = options.kind })
    _G.choose = done
  end
]]

---@param editor harness.Editor
---@param path string
---@param old string
---@param new string
local function edit(editor, path, old, new)
  local full = editor.workspace .. '/' .. path
  editor.model:reply_tool('Read', { file_path = full })
  editor.model:reply_tool('Edit', { file_path = full, old_string = old, new_string = new })
  editor.model:reply('Changed.')
end

harness.test(
  'an edit of a clean buffer is in the buffer and on disk, and one `u` takes it back',
  { files = { ['a.txt'] = 'one\ntwo\nthree\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    local full = editor.workspace .. '/a.txt'
    editor.model:reply_tool('Read', { file_path = full })
    editor.model:reply_tool('MultiEdit', {
      file_path = full,
      edits = {
        { old_string = 'one', new_string = 'ONE' },
        { old_string = 'three', new_string = 'THREE\nfour' },
      },
    })
    editor.model:reply('Changed.')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    harness.equal(editor:lines('a.txt'), { 'ONE', 'two', 'THREE', 'four' })
    harness.equal(editor:on_disk('a.txt'), 'ONE\ntwo\nTHREE\nfour\n')
    harness.equal(editor:lua('return tostring(vim.bo[vim.fn.bufnr("a.txt")].modified)'), 'false')
    editor:keys('<Esc>')
    editor:command('wincmd t')
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one', 'two', 'three' })
  end
)

harness.test(
  'an edit does not join the undo step of what the user typed before it',
  { files = { ['a.txt'] = 'one\ntwo\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:keys('Gomine<Esc>')
    edit(editor, 'a.txt', 'one', 'ONE')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    editor:keys('<Esc>')
    editor:command('wincmd t')
    harness.equal(editor:lines('a.txt'), { 'ONE', 'two', 'mine' })
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one', 'two', 'mine' })
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one', 'two' })
  end
)

harness.test(
  'an edit that comes while the user is in Insert mode is a step of undo of its own, and takes no other line along',
  { files = { ['a.txt'] = 'one\ntwo\nthree\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool('Read', { file_path = editor.workspace .. '/a.txt' }, { behind = 'now' })
    local change = { file_path = editor.workspace .. '/a.txt', old_string = 'one', new_string = 'ONE\nEXTRA' }
    editor.model:reply_tool('Edit', change)
    editor.model:reply('Changed.')
    editor:keys(':Reverie ask Change it<CR>')
    editor.model:reached('now')
    editor:keys('Gomine')
    editor:wait_lines('a.txt', 'mine')
    editor.model:open('now')
    editor:wait_screen('Changed.')
    ended(editor)
    editor:keys(' and more<CR>again<Esc>')
    editor:wait_lines('a.txt', 'again')
    harness.equal(editor:lines('a.txt'), { 'ONE', 'EXTRA', 'two', 'three', 'mine and more', 'again' })
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'ONE', 'EXTRA', 'two', 'three', 'mine' })
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one', 'two', 'three', 'mine' })
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one', 'two', 'three' })
  end
)

harness.test('with save = false nothing is written, and the buffer is modified', {
  files = { ['a.txt'] = 'one\n' },
  settings = user.ACCEPT,
  init = ENDED .. 'vim.g.reverie = { save = false }',
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  edit(editor, 'a.txt', 'one', 'ONE')
  user.prompt(editor, 'Change it')
  editor:wait_screen('Changed.')
  ended(editor)
  harness.equal(editor:lines('a.txt'), { 'ONE' })
  harness.equal(editor:on_disk('a.txt'), 'one\n')
  harness.equal(editor:lua('return vim.bo[vim.fn.bufnr("a.txt")].modified'), true)
end)

harness.test('a buffer that cannot be written says so, and keeps the edit', {
  files = { ['a.txt'] = 'one\n' },
  settings = user.ACCEPT,
  init = ENDED .. 'vim.notify = function(words) _G.told = words end',
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  editor:command('setlocal readonly')
  edit(editor, 'a.txt', 'one', 'ONE')
  user.prompt(editor, 'Change it')
  editor:wait_screen('Changed.')
  ended(editor)
  harness.equal(editor:lines('a.txt'), { 'ONE' })
  harness.equal(editor:on_disk('a.txt'), 'one\n')
  harness.contains(editor:lua('return _G.told or ""'), "not saved: E45: 'readonly' option is set")
end)

harness.test(
  'an edit that comes when the user has typed meanwhile is refused and tried again, never half-applied',
  {
    files = { ['a.txt'] = 'one\ntwo\nthree\n' },
    settings = user.ACCEPT,
    init = ENDED .. [[
      -- As a key that is pressed between the server's decision and the arrival of its edit.
      local handlers = require('reverie.handlers')
      local apply = handlers['workspace/applyEdit'] or vim.lsp.handlers['workspace/applyEdit']
      _G.arrivals = 0
      handlers['workspace/applyEdit'] = function(...)
        _G.arrivals = _G.arrivals + 1
        if _G.arrivals == 1 then
          vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 0, false, { 'typed meanwhile' })
        end
        return apply(...)
      end
    ]],
  },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    local full = editor.workspace .. '/a.txt'
    for _ = 1, 2 do
      editor.model:reply_tool('Read', { file_path = full })
      editor.model:reply_tool('MultiEdit', {
        file_path = full,
        edits = {
          { old_string = 'one', new_string = 'ONE' },
          { old_string = 'three', new_string = 'THREE' },
        },
      })
    end
    editor.model:reply('Done with it.')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Done with it.')
    ended(editor)
    harness.equal(editor:lua('return _G.arrivals'), 2, 'it was tried again')
    harness.contains(editor.model:requests('main')[3].last, 'modified since it was read')
    harness.equal(editor:lines('a.txt'), { 'typed meanwhile', 'ONE', 'two', 'THREE' })
  end
)

harness.test(
  'an edit of a file that no window shows goes through its hidden buffer',
  { files = { ['a.txt'] = 'one\n', ['b.txt'] = 'b\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:keys('Gomine<Esc>')
    editor:command('set hidden')
    editor:open('b.txt')
    edit(editor, 'a.txt', 'one', 'ONE')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    harness.equal(editor:lines('a.txt'), { 'ONE', 'mine' })
    harness.equal(editor:on_disk('a.txt'), 'one\n')
  end
)

harness.test(
  'a file that is not open is edited on disk, and no buffer appears in the list',
  { files = { ['a.txt'] = 'one\n', ['b.txt'] = 'b\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    edit(editor, 'a.txt', 'one', 'ONE')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    harness.equal(editor:on_disk('a.txt'), 'ONE\n')
    harness.equal(
      editor:lua([[
        return vim.tbl_map(function(one) return vim.fs.basename(one.name) end, vim.fn.getbufinfo({ buflisted = 1 }))
      ]]),
      { 'b.txt' }
    )
  end
)

local COUNTED = [[
  _G.lists = 0
  vim.api.nvim_create_autocmd('User', { pattern = 'ReverieChanges', callback = function() _G.lists = _G.lists + 1 end })
]]

harness.test(
  'a changed file that is opened later has its marks too',
  { files = { ['a.txt'] = 'one\n', ['b.txt'] = 'b\n' }, settings = user.ACCEPT, init = ENDED .. COUNTED },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    edit(editor, 'a.txt', 'one', 'ONE')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    -- Asked for with the edit and at the end of the turn: no answer is under way that would draw them.
    editor:wait('both lists of changes', function()
      return editor:lua('return _G.lists') == 2
    end)
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:open('a.txt')
    editor:wait_screen('◆ +1 −1')
  end
)

harness.test(
  'marks of a change stand in the file that was changed, not in one whose name begins alike',
  { files = { ['parts.lua'] = 'local one = 1\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('parts.lua')
    editor.model:reply_tool('Write', { file_path = editor.workspace .. '/parts', content = 'new\n' })
    editor.model:reply('Written.')
    user.prompt(editor, 'Write it')
    editor:wait_screen('Written.')
    ended(editor)
    editor:wait('the change', function()
      return editor:lua('return #require("reverie.changes").files') == 1
    end)
    -- The file itself has them, so they were drawn by now.
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:command('split parts')
    editor:wait_screen('◆ +1 −0')
    harness.equal(
      editor:lua([[
        local names = vim.api.nvim_get_namespaces()
        return #vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('parts.lua'), names['reverie.changes'], 0, -1, {})
      ]]),
      0
    )
  end
)

harness.test(
  'files with brackets, spaces and percent signs in their names are edited and saved',
  { files = { ['a [1] %x #y.txt'] = 'one\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('a [1] %x #y.txt')
    edit(editor, 'a [1] %x #y.txt', 'one', 'ONE')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    harness.equal(editor:lines('%x #y.txt'), { 'ONE' })
    harness.equal(editor:on_disk('a [1] %x #y.txt'), 'ONE\n')
    editor:wait('the marks', function()
      return editor:lua([[
        local names = vim.api.nvim_get_namespaces()
        local buffer = vim.tbl_filter(function(one) return vim.api.nvim_buf_get_name(one):find('#y.txt', 1, true) end, vim.api.nvim_list_bufs())[1]
        return #vim.api.nvim_buf_get_extmarks(buffer, names['reverie.changes'], 0, -1, {}) > 0
      ]])
    end)
  end
)

harness.test(
  'a file that a command changed is read again when its buffer is clean',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = PICKER },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool('Bash', { command = 'echo two >> a.txt' })
    editor.model:reply('Ran.')
    user.prompt(editor, 'Run it')
    editor:wait_screen('Ran.')
    ended(editor)
    editor:wait_lines('a.txt', 'one\ntwo')
    harness.equal(editor:lua('return #_G.asked'), 0)
    editor:keys('<Esc>')
    editor:command('wincmd t')
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one' }, 'reading it again can be undone')
  end
)

harness.test(
  'a file that a command changed is read again with noautoread too, and without a question of Neovim',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = PICKER .. 'vim.o.autoread = false' },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool('Bash', { command = 'echo two >> a.txt' })
    editor.model:reply('Ran.')
    user.prompt(editor, 'Run it')
    editor:wait_screen('Ran.')
    ended(editor)
    editor:wait_lines('a.txt', 'one\ntwo')
  end
)

harness.test(
  'a file that a command changed is read again where no window shows it, and asked about where it is dirty',
  {
    files = { ['a.txt'] = 'one\n', ['b.txt'] = 'b\n', ['c.txt'] = 'c\n' },
    settings = user.ACCEPT,
    init = PICKER,
  },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:open('c.txt')
    editor:keys('omine<Esc>')
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'echo two >> a.txt; echo theirs >> c.txt' })
    editor.model:reply('Ran.')
    user.prompt(editor, 'Run it')
    editor:wait_screen('Ran.')
    ended(editor)
    editor:wait_lines('a.txt', 'one\ntwo')
    editor:wait_screen('It was changed on disk')
    editor:keys('<Esc>:Reverie answer<CR>')
    user.answer(editor, '2')
    editor:wait_lines('c.txt', 'c\ntheirs')
  end
)

harness.test(
  'a file that somebody else has just written is not written over, and no key is taken for an answer',
  {
    files = { ['a.txt'] = 'one\n' },
    settings = user.ACCEPT,
    init = ENDED .. [[
    -- As another program does it between the edit and the save.
    local handlers = require('reverie.handlers')
    local save = handlers['reverie/document/save']
    handlers['reverie/document/save'] = function(...)
      vim.uv.fs_utime('a.txt', 1000, 1000)
      return save(...)
    end
  ]],
  },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    edit(editor, 'a.txt', 'one', 'ONE')
    editor:keys(':Reverie ask Change it<CR>')
    editor:wait_lines('reverie://chat', 'Changed.')
    ended(editor)
    editor:wait_screen('It was changed on disk')
    harness.lacks(editor:text(), 'Do you really want')
    harness.equal(editor:lines('a.txt'), { 'ONE' })
    harness.equal(editor:on_disk('a.txt'), 'one\n')
  end
)

harness.test('what the user types between an edit and its save is not written', {
  files = { ['a.txt'] = 'one\n' },
  settings = user.ACCEPT,
  init = ENDED .. [[
    local handlers = require('reverie.handlers')
    local save = handlers['reverie/document/save']
    handlers['reverie/document/save'] = function(...)
      vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), -1, -1, false, { 'typed meanwhile' })
      return save(...)
    end
  ]],
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  edit(editor, 'a.txt', 'one', 'ONE')
  user.prompt(editor, 'Change it')
  editor:wait_screen('Changed.')
  ended(editor)
  harness.equal(editor:lines('a.txt'), { 'ONE', 'typed meanwhile' })
  harness.equal(editor:on_disk('a.txt'), 'one\n')
end)

harness.test('a question about a file that is gone by now, or its buffer, is answered in words', {
  files = user.TWO,
  settings = user.ACCEPT,
  init = user.INIT .. ENDED,
}, function(editor)
  local removed, wiped = "vim.uv.fs_unlink('a.txt')", "vim.cmd('bwipeout! ' .. vim.fn.bufnr('a.txt'))"
  editor:command('edit b.txt | split')
  for _, case in ipairs({ { removed, '2' }, { removed, '3' }, { wiped, '2' } }) do
    editor:lua([[
      _G.told = {}
      vim.fn.writefile({ 'one' }, 'a.txt')
      vim.cmd('edit! a.txt')
      vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'mine' })
      vim.fn.writefile({ 'one', 'theirs' }, 'a.txt')
      require('reverie.buffers').reread()
    ]])
    editor:wait('the question', function()
      return user.asks(editor) == 1
    end)
    editor:keys(':Reverie answer<CR>')
    editor:wait('the focus', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-ask'
    end)
    editor:lua(case[1])
    user.answer(editor, case[2])
    user.wait_told(editor, 'a.txt is gone')
  end
  harness.lacks(editor:messages(), 'E5108')
end)

--- The agent's command changes a file in which the user has unsaved text.
---@param editor harness.Editor
local function conflict(editor)
  user.quiet(editor)
  editor:open('a.txt')
  editor:keys('Gomine<Esc>')
  editor.model:reply_tool('Bash', { command = 'echo theirs >> a.txt' })
  editor.model:reply('Ran.')
  user.prompt(editor, 'Run it')
  editor:wait_screen('Ran.')
  ended(editor)
  editor:wait_screen('It was changed on disk')
end

---@param editor harness.Editor
---@param key string
local function answer(editor, key)
  editor:keys('<Esc>:Reverie answer<CR>')
  user.answer(editor, key)
end

harness.test(
  'a file that a command changed is asked about once when its buffer is dirty, and nothing is lost before',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = PICKER },
  function(editor)
    conflict(editor)
    harness.equal(editor:lua('return require("reverie.asks").count()'), 1)
    harness.equal(editor:lines('a.txt'), { 'one', 'mine' })
    harness.equal(editor:on_disk('a.txt'), 'one\ntheirs\n')
    answer(editor, '1')
    harness.equal(editor:lines('a.txt'), { 'one', 'mine' })
  end
)

harness.test(
  'of a file that changed on disk under unsaved text the file can be loaded, and that be undone',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = PICKER },
  function(editor)
    conflict(editor)
    answer(editor, '2')
    harness.equal(editor:lines('a.txt'), { 'one', 'theirs' })
    editor:keys('<Esc>')
    editor:command('wincmd t')
    editor:keys('u')
    harness.equal(editor:lines('a.txt'), { 'one', 'mine' })
  end
)

harness.test(
  'of a file that changed on disk under unsaved text both can be seen in diff windows',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = PICKER },
  function(editor)
    conflict(editor)
    answer(editor, '3')
    harness.equal(
      editor:lua([[
        local shown = {}
        for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.wo[window].diff then
            table.insert(shown, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false))
          end
        end
        return shown
      ]]),
      { { 'one', 'theirs' }, { 'one', 'mine' } }
    )
    harness.equal(editor:lua('return #vim.api.nvim_tabpage_list_wins(0)'), 2, 'the two and nothing else')
  end
)

harness.test(
  'while the user types in a dirty buffer, a question about it takes no key away',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool('Bash', { command = 'echo theirs >> a.txt' }, { behind = 'now' })
    editor.model:reply('Ran.')
    editor:keys(':Reverie ask run it<CR>')
    editor.model:reached('now')
    editor:keys('Gomine')
    editor:wait_lines('a.txt', 'mine')
    editor.model:open('now')
    editor:wait('the end of the turn', function()
      return #editor.model:requests('main') == 2 and editor.screen:text():find('Ran.', 1, true)
    end)
    editor:type(' 1 and 2')
    editor:wait_screen('mine 1 and 2')
  end
)

harness.test("a user's own FileChangedShell autocommand and 'autoread' are as before after a command", {
  files = { ['a.txt'] = 'one\n' },
  settings = user.ACCEPT,
  init = ENDED .. "vim.api.nvim_create_autocmd('FileChangedShell', { callback = function() end })",
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  editor.model:reply_tool('Bash', { command = 'true' })
  editor.model:reply('Ran.')
  user.prompt(editor, 'Run it')
  editor:wait_screen('Ran.')
  ended(editor)
  harness.equal(editor:lua("return #vim.api.nvim_get_autocmds({ event = 'FileChangedShell' })"), 1)
  harness.equal(editor:lua('return vim.o.autoread'), true)
end)

harness.test(
  'a file that a command deleted leaves its buffer as it was, without a question',
  { files = { ['a.txt'] = 'one\n' }, settings = user.ACCEPT, init = PICKER },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply_tool('Bash', { command = 'rm a.txt' })
    editor.model:reply('Ran.')
    user.prompt(editor, 'Run it')
    editor:wait_screen('Ran.')
    ended(editor)
    harness.equal(editor:lines('a.txt'), { 'one' })
    harness.equal(editor:lua('return #_G.asked'), 0)
  end
)

harness.test('line ends, the end of the last line and the encoding of a file stay as they are', {
  files = {
    ['dos.txt'] = 'one\r\ntwo\r\n',
    ['open.txt'] = 'one\ntwo',
    ['wide.txt'] = 'é 日本 😀 one\n',
  },
  settings = user.ACCEPT,
  init = ENDED .. 'vim.o.fixendofline = false',
}, function(editor)
  user.quiet(editor)
  for at, name in ipairs({ 'dos.txt', 'open.txt', 'wide.txt' }) do
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:open(name)
    edit(editor, name, 'one', 'ONE 😀')
    user.prompt(editor, 'Change it')
    editor:wait('the end of the turn', function()
      return #editor.model:requests('main') == at * 3
        and editor:lua('return require("reverie.chat").current().turn == nil')
    end)
  end
  harness.equal(editor:on_disk('dos.txt'), 'ONE 😀\r\ntwo\r\n')
  harness.equal(editor:on_disk('open.txt'), 'ONE 😀\ntwo')
  harness.equal(editor:on_disk('wide.txt'), 'é 日本 😀 ONE 😀\n')
end)

--- The same two lines, as they are in files that are not UTF-8.
local ENCODED = {
  latin1 = { 'caf\233\n%s\n', 'ucs-bom,utf-8,latin1' },
  cp1251 = { '\207\240\238\226\n%s\n', 'cp1251' },
  ['utf-16le'] = { '\255\254\233\0\n\0%s\n\0', 'ucs-bom,utf-8' },
}

for encoding, file in pairs(ENCODED) do
  ---@param word string
  local function stored(word)
    return (file[1]:gsub('%%s', encoding == 'utf-16le' and word:gsub('.', '%0\0') or word))
  end
  local options = {
    files = { ['a.txt'] = stored('two') },
    settings = user.ACCEPT,
    init = ENDED .. ("vim.o.fileencodings = '%s'"):format(file[2]),
  }

  harness.test('a file stays in its encoding: ' .. encoding, options, function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    edit(editor, 'a.txt', 'two', 'TWO')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    harness.equal(editor:lua('return vim.bo[vim.fn.bufnr("a.txt")].fileencoding'), encoding)
    harness.equal(editor:on_disk('a.txt'), stored('TWO'))
  end)

  harness.test('unsaved text is not written with an edit: ' .. encoding, options, function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    -- Before the server hears of it.
    editor:keys('Gomine<Esc>')
    edit(editor, 'a.txt', 'two', 'TWO')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    ended(editor)
    harness.equal(vim.list_slice(editor:lines('a.txt'), 2), { 'TWO', 'mine' })
    harness.equal(editor:on_disk('a.txt'), stored('two'))
    harness.contains(editor.model:requests('main')[3].last, 'not saved to disk yet')
  end)
end

harness.test('a letter that the encoding of a file does not have is not written as another', {
  files = { ['a.txt'] = 'caf\233\ntwo\n' },
  settings = user.ACCEPT,
  init = ENDED .. 'vim.notify = function(words) _G.told = words end',
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  edit(editor, 'a.txt', 'two', '2 €')
  user.prompt(editor, 'Change it')
  editor:wait_screen('Changed.')
  ended(editor)
  harness.equal(editor:lines('a.txt'), { 'café', '2 €' })
  harness.equal(editor:on_disk('a.txt'), 'caf\233\ntwo\n')
  harness.equal(editor:lua('return vim.bo[vim.fn.bufnr("a.txt")].modified'), true)
  harness.contains(editor:lua('return _G.told'), 'a.txt was edited and not saved: latin1 has no € (line 2)')
end)

harness.test(
  'bytes that are no text are question marks to the agent, stay in the buffer, and stop nobody',
  { files = { ['a.txt'] = 'caf\233 é日😀\237\160\128\ntwo\n' }, settings = user.ACCEPT, init = ENDED },
  function(editor)
    user.quiet(editor)
    editor:command('edit ++bin a.txt')
    edit(editor, 'a.txt', 'two', 'TWO')
    -- One more while the server knows it.
    editor:lua("require('reverie.client').start(function() _G.is_up = true end)")
    editor:wait('the server', function()
      return editor:lua('return _G.is_up')
    end)
    editor:lua("vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'mine \\255' })")
    editor:lua("require('reverie.chat').open() require('reverie.chat').prompt('Change \\255 it')")
    editor:wait_screen('Changed.')
    ended(editor)
    harness.contains(editor.model:requests('main')[1].last, 'Change ? it')
    harness.contains(editor.model:requests('main')[2].last, 'caf? é日😀???')
    harness.contains(editor.model:requests('main')[2].last, 'mine ?')
    local lines = editor:lua([[
      local lines = vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false)
      return vim.tbl_map(vim.base64.encode, lines)
    ]])
    harness.equal(
      vim.tbl_map(vim.base64.decode, lines),
      { 'caf\233 é日😀\237\160\128', 'TWO', 'mine \255' }
    )
    harness.equal(editor:on_disk('a.txt'), 'caf\233 é日😀\237\160\128\ntwo\n')
    harness.lacks(editor:text(), 'ENTER')
  end
)

harness.test(
  "the user's keys of a source file stay: K, gq, omni completion and tags are not taken over",
  { files = { ['a.lua'] = 'print(1)\n' } },
  function(editor)
    editor:open('a.lua')
    local SNAPSHOT = [[
      return {
        K = vim.fn.maparg('K', 'n'),
        omnifunc = vim.bo.omnifunc,
        tagfunc = vim.bo.tagfunc,
        formatexpr = vim.bo.formatexpr,
      }
    ]]
    local before = editor:lua(SNAPSHOT)
    editor:lua("require('reverie.client').start(function() end)")
    editor:wait('the server in the buffer', function()
      return editor:lua(
        "return #vim.lsp.get_clients({ bufnr = 0, name = 'reverie' }) == 1 and require('reverie.client').state == 'running'"
      )
    end)
    -- Neovim takes `K` as soon as hover is announced; it is given back.
    editor:wait('hover', function()
      return editor:lua("return #vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/hover' }) == 1")
    end)
    editor:wait('the keys', function()
      return vim.deep_equal(editor:lua(SNAPSHOT), before)
    end)
  end
)
