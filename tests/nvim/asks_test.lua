-- Questions wait without taking keys from anybody, and show what they ask and all their answers.

local harness = require('harness')
local user = require('user')

harness.test(
  'a question takes no key from somebody who types in a file',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' }, { behind = 'now' })
    editor.model:reply('It was denied.')
    editor:keys(':Reverie ask make x<CR>')
    editor.model:reached('now')
    editor:keys('Go')
    editor:type('1 2 3 ')
    editor.model:open('now')
    editor:wait('the question', function()
      return user.asks(editor) == 1
    end)
    editor:type('1 2 3 q')
    editor:wait_lines('b.txt', '1 2 3 1 2 3 q')
    harness.equal(user.asks(editor), 1)
    harness.equal(vim.uv.fs_stat(editor.workspace .. '/x'), nil)
    editor:keys('<Esc>:Reverie answer<CR>')
    editor:wait('the focus', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-ask'
    end)
    editor:wait('an answer that is taken', function()
      if user.asks(editor) == 1 then
        editor:keys('1')
      end
      return user.asks(editor) == 0
    end)
    editor:wait_screen('It was denied.')
    harness.equal(vim.uv.fs_stat(editor.workspace .. '/x') ~= nil, true)
    harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'b.txt', 'the user is back in the file')
  end
)

harness.test(
  'a question takes no key from somebody who types a prompt',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' }, { behind = 'now' })
    user.prompt(editor, 'make x')
    editor.model:reached('now')
    editor:type('1 and')
    editor.model:open('now')
    editor:wait('the question', function()
      return user.asks(editor) == 1
    end)
    editor:type(' 1 more')
    editor:wait_lines('reverie://prompt', '1 and 1 more')
    harness.equal(user.asks(editor), 1)
    editor:keys('<C-c>')
    editor:wait('the end of the question', function()
      return user.asks(editor) == 0
    end)
    harness.equal(vim.uv.fs_stat(editor.workspace .. '/x'), nil)
  end
)

harness.test(
  'a question that was closed waits, and :Reverie answer shows it again',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('Over.')
    user.prompt(editor, 'make x')
    editor:wait_screen('1  Allow once')
    editor:wait('the focus', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-ask'
    end)
    editor:keys(':q<CR>')
    editor:wait_gone('1  Allow once')
    harness.equal(user.asks(editor), 1)
    editor:wait_screen('asks')
    editor:keys('<C-\\><C-n>:Reverie answer<CR>')
    editor:wait_screen('1  Allow once')
    editor:wait('an answer that is taken', function()
      if user.asks(editor) == 1 then
        editor:keys('1')
      end
      return user.asks(editor) == 0
    end)
    editor:wait_screen('Over.')
  end
)

harness.test("a question is asked where the user's own vim.notify is a table, and where it fails", {
  files = user.TWO,
  init = [[
    _G.told = 0
    vim.notify = setmetatable({}, { __call = function()
      _G.told = _G.told + 1
      if _G.told > 1 then error('it cannot be shown') end
    end })
  ]],
}, function(editor)
  user.quiet(editor)
  editor:open('b.txt')
  for _, name in ipairs({ 'x', 'y' }) do
    editor.model:reply_tool('Bash', { command = 'touch ' .. name })
    editor.model:reply(name .. ' is over.')
    editor:keys(':Reverie ask make it<CR>')
    editor:wait_screen('1  Allow once')
    editor:keys(':Reverie answer<CR>')
    user.answer(editor, '1')
    editor:wait_screen(name .. ' is over.')
    harness.equal(editor:on_disk(name), '')
  end
  harness.equal(editor:lua('return _G.told >= 2'), true)
end)

harness.test(
  'who typed in the box when a question took the focus is in Insert mode again when the last is answered',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' }, { behind = 'now' })
    editor.model:reply_tool('Bash', { command = 'touch y' })
    editor.model:reply('Over.')
    user.prompt(editor, 'make them')
    editor.model:reached('now')
    editor.model:open('now')
    for _, name in ipairs({ 'x', 'y' }) do
      editor:wait_screen('Bash touch ' .. name)
      editor:wait('the focus', function()
        return editor:lua('return { vim.bo.filetype, vim.fn.mode() }')[1] == 'reverie-ask'
      end)
      user.answer(editor, '1')
    end
    editor:wait_screen('Over.')
    user.box(editor)
  end
)

harness.test(
  'a denial with words gives them to the model',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('As you wish.')
    user.prompt(editor, 'make x')
    editor:wait_screen('Deny, and say why')
    local key = assert(editor.screen:text():match('(%d)  Deny, and say why'))
    editor:wait('the question for words', function()
      editor:keys(key)
      return editor:lua('return _G.enter ~= nil')
    end)
    editor:lua("_G.enter('make y instead')")
    editor:wait_screen('As you wish.')
    local requests = editor.model:requests('main')
    harness.contains(requests[#requests].last, 'make y instead')
  end
)

harness.test(
  'the question fits into a terminal of 40 columns and 10 lines, with all its answers',
  { files = user.TWO, init = user.INIT, width = 40, height = 10 },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('Over.')
    user.prompt(editor, 'make x')
    editor:wait_screen('1  Allow once')
    editor:wait_screen('Deny, and say')
    editor:wait('an answer that is taken', function()
      if user.asks(editor) == 1 then
        editor:keys('1')
      end
      return user.asks(editor) == 0
    end)
    editor:wait_screen('Over.')
  end
)

harness.test(
  'a resize of the terminal keeps a question on the screen',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('Over.')
    user.prompt(editor, 'make x')
    editor:wait_screen('1  Allow once')
    editor.rpc:request('nvim_ui_try_resize', 50, 14)
    editor:wait('the size', function()
      return editor.screen.width == 50 and editor.screen.height == 14
    end)
    editor:wait_screen('1  Allow once')
    editor:wait('an answer that is taken', function()
      if user.asks(editor) == 1 then
        editor:keys('1')
      end
      return user.asks(editor) == 0
    end)
    editor:wait_screen('Over.')
  end
)

harness.test(
  'a notice that is longer than the screen is wide does not ask for ENTER',
  { files = user.TWO, width = 60, init = '' },
  function(editor)
    local path = editor.project .. '/memory/lunch.md'
    local words = 'Lunch is at noon, in the big room on the third floor, except on Fridays'
    local content = ('---\nname: %s\ndescription: %s\ntype: project\n---\n\n%s.\n'):format(
      words,
      words,
      words
    )
    editor.model:reply_tool('Write', { file_path = path, content = content }, { ['for'] = 'extraction' })
    editor.model:reply('Done.', { ['for'] = 'extraction' })
    editor.model:reply('Good to know.')
    editor:open('b.txt')
    editor:keys(':Reverie ask Lunch is at noon<CR>')
    editor:wait_lines('reverie://chat', '◆ Remembered: ')
    editor:keys('Gotyped')
    editor:wait_lines('b.txt', 'typed')
    harness.lacks(editor.screen:text(), 'Press ENTER')
  end
)

harness.test(
  'a question about a long command, asked of somebody in a file, does not ask for ENTER',
  { files = user.TWO, width = 60, init = '' },
  function(editor)
    user.quiet(editor)
    editor.model:reply_tool('Bash', { command = 'echo ' .. ('many words '):rep(20) .. '> x' })
    editor:open('b.txt')
    editor:keys(':Reverie ask Run it<CR>')
    editor:wait_screen('1  Allow once')
    editor:keys('Gotyped')
    editor:wait_lines('b.txt', 'typed')
    harness.lacks(editor.screen:text(), 'Press ENTER')
  end
)

harness.test(
  'no `Workspace edit` message is left behind by an edit',
  { files = user.TWO, settings = user.ACCEPT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    local full = editor.workspace .. '/a.txt'
    editor.model:reply_tool('Read', { file_path = full })
    editor.model:reply_tool('Edit', { file_path = full, old_string = 'one', new_string = 'ONE' })
    editor.model:reply('Changed.')
    user.prompt(editor, 'Change it')
    editor:wait_screen('Changed.')
    harness.lacks(editor:messages(), 'Workspace edit')
  end
)

harness.test(
  'conversations are listed, renamed, forked, exported and deleted',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    local function list()
      local before = editor:lua('return #_G.asked')
      editor:keys(':Reverie sessions<CR>')
      editor:wait('the list', function()
        return editor:lua('return #_G.asked') == before + 1
      end)
      return editor:lua('return _G.asked[#_G.asked].names')
    end
    local function act(name)
      editor:lua('_G.choose(1)')
      local names = editor:lua('return _G.asked[#_G.asked].names')
      for at, one in ipairs(names) do
        if one == name then
          return editor:lua('_G.choose(...)', at)
        end
      end
      error(name .. ' is not offered')
    end
    harness.equal(#list(), 1)
    act('Rename')
    editor:lua("_G.enter('A better title')")
    editor:wait('the new title', function()
      return list()[1]:find('A better title', 1, true)
    end)
    act('Fork')
    editor:wait('two conversations', function()
      return #list() == 2
    end)
    act('Export')
    editor:wait_lines('reverie://export', 'It is answered.')
    editor:keys('q')
    list()
    act('Delete')
    editor:lua('_G.choose(1)')
    editor:wait('one conversation', function()
      return #list() == 1
    end)
  end
)

harness.test(
  'a question that is put away covers nothing, and comes back when it is asked for',
  { files = user.TWO, width = 80, height = 24 },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('Over.')
    user.prompt(editor, 'make x')
    editor:wait_screen('1  Allow once')
    editor:keys('q')
    editor:wait_gone('1  Allow once')
    editor:wait_screen('it waits for an answer: `:Reverie answer`')
    editor:wait_screen('asks')
    harness.equal(user.asks(editor), 1)
    harness.equal(editor:lua('return vim.bo.filetype'), 'reverie-prompt')
    editor:keys(':Reverie answer<CR>')
    editor:wait_screen('1  Allow once')
    editor:wait_screen('a number answers')
    user.answer(editor, '1')
    editor:wait_screen('Over.')
  end
)

harness.test('who is asked whether to trust a folder sees what would run', {
  files = {
    ['a.txt'] = 'one\n',
    ['.claude/settings.json'] = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo sneaky"}]}]}}',
  },
  untrusted = true,
  width = 80,
  height = 24,
}, function(editor)
  editor:open('a.txt')
  editor:keys(':Reverie trust<CR>')
  editor:wait_screen('Trust this folder?')
  editor:wait_screen('runs programs at Stop')
  editor:wait_screen('q closes')
  editor:keys('q')
  editor:wait_gone('Trust this folder?')
  harness.equal(user.asks(editor), 0)
end)

harness.test(
  'the box keeps its height when another window of Reverie was opened and closed',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    local HEIGHT = 'return vim.api.nvim_win_get_height(require("reverie.chat.window").prompt)'
    local before = editor:lua(HEIGHT)
    editor:keys(':Reverie memory<CR>')
    editor:wait('the list', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-memory'
    end)
    editor:keys('q')
    editor:wait('its end', function()
      return #user.windows(editor) == 3
    end)
    editor:wait('the box as high as before', function()
      return editor:lua(HEIGHT) == before
    end)
    harness.equal(editor:lua('return vim.bo.filetype'), 'reverie-prompt', 'where the user was')
  end
)

harness.test(
  'a question about a long change shows all its answers',
  { files = user.TWO, init = user.INIT, height = 24 },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool(
      'Write',
      { file_path = editor.workspace .. '/long.txt', content = ('a line\n'):rep(100) }
    )
    editor.model:reply('Over.')
    editor:keys(':Reverie ask write it<CR>')
    editor:wait_screen('1  Allow once')
    editor:wait_screen('Deny, and say why')
    editor:keys(':Reverie answer<CR>')
    editor:wait('an answer that is taken', function()
      if user.asks(editor) == 1 then
        editor:keys('1')
      end
      return user.asks(editor) == 0
    end)
    editor:wait_screen('Over.')
  end
)

harness.test(
  'the words below a question say how to answer it, once it has the focus',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor.model:reply_tool('Bash', { command = 'touch x' })
    editor.model:reply('Over.')
    editor:keys(':Reverie ask make x<CR>')
    editor:wait_screen(':Reverie answer')
    editor:keys(':Reverie answer<CR>')
    editor:wait_screen('a number answers')
    editor:wait('an answer that is taken', function()
      if user.asks(editor) == 1 then
        editor:keys('1')
      end
      return user.asks(editor) == 0
    end)
    editor:wait_screen('Over.')
  end
)

harness.test('a question that comes while the command-line window is open waits, and is answered later', {
  files = user.TWO,
  init = user.INIT,
}, function(editor)
  user.quiet(editor)
  editor:open('b.txt')
  editor.model:reply_tool('Bash', { command = 'touch x' }, { behind = 'now' })
  editor.model:reply('Over.')
  editor:keys(':Reverie ask make x<CR>')
  editor.model:reached('now')
  editor:keys('q:')
  editor:wait('the command-line window', function()
    return editor:lua('return vim.fn.getcmdwintype()') == ':'
  end)
  editor.model:open('now')
  editor:wait('the question', function()
    return user.asks(editor) == 1
  end)
  editor:wait('the end of the command-line window', function()
    -- One that comes while Neovim is at something interrupts that instead.
    editor:keys('<C-c>')
    return editor:lua("return vim.fn.getcmdwintype() == '' and vim.fn.mode() == 'n'")
  end)
  editor:keys('<Esc>:Reverie answer<CR>')
  editor:wait_screen('1  Allow once')
  editor:wait('an answer that is taken', function()
    if user.asks(editor) == 1 then
      editor:keys('1')
    end
    return user.asks(editor) == 0
  end)
  editor:wait_screen('Over.')
  harness.equal(vim.uv.fs_stat(editor.workspace .. '/x') ~= nil, true, 'it was allowed')
end)

harness.test('two questions at once are asked one after the other, each with its own answer', {
  files = user.TWO,
  init = user.INIT,
}, function(editor)
  editor:open('b.txt')
  editor:keys(':Reverie chat<CR>')
  user.box(editor)
  editor:lua([[
    _G.answers = {}
    for _, name in ipairs({ 'first', 'second' }) do
      coroutine.wrap(function()
        local answer = require('reverie.handlers')['reverie/permission/ask'](nil, {
          sessionId = 'x', toolUseId = name, tool = 'Bash', input = { command = name }, reason = 'because',
          options = { { id = 'allow_once', label = 'Allow once' }, { id = 'deny', label = 'Deny' } },
        })
        _G.answers[name] = answer.option
      end)()
    end
  ]])
  editor:wait_screen('Bash first')
  harness.lacks(editor.screen:text(), 'Bash second')
  editor:wait('the first answer', function()
    if user.asks(editor) == 2 then
      editor:keys('1')
    end
    return user.asks(editor) == 1
  end)
  editor:wait_screen('Bash second')
  editor:wait('the second answer', function()
    if user.asks(editor) == 1 then
      editor:keys('2')
    end
    return user.asks(editor) == 0
  end)
  harness.equal(editor:lua('return _G.answers'), { first = 'allow_once', second = 'deny' })
end)

for lines = 3, 15, 4 do
  harness.test(
    ('a question about a change of %d lines shows all its answers in a terminal of 80 by 24'):format(lines),
    {
      files = user.TWO,
      init = user.INIT,
      width = 80,
      height = 24,
    },
    function(editor)
      user.quiet(editor)
      editor:open('b.txt')
      local content = ('a line\n'):rep(lines)
      editor.model:reply_tool('Write', { file_path = editor.workspace .. '/new.txt', content = content })
      editor.model:reply('Over.')
      editor:keys(':Reverie ask write it<CR>')
      editor:wait_screen('1  Allow once')
      editor:wait_screen('Deny, and say why')
      editor:keys(':Reverie answer<CR>')
      editor:wait('an answer that is taken', function()
        if user.asks(editor) == 1 then
          editor:keys('1')
        end
        return user.asks(editor) == 0
      end)
      editor:wait_screen('Over.')
    end
  )
end
